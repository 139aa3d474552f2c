/** Long connections end with their credential: one look every 4 s at each credential in use, which answers within 5 s old. */
import { credentialValid } from "../auth/authenticate.ts";
import type { Auth } from "../auth/auth.ts";
import type { Caller } from "../auth/caller.ts";
import { messageOf } from "../lib/errors.ts";

export type CredentialWatch = {
  /** Calls `end` once when the credential has expired or was revoked. */
  watch(caller: Caller, end: () => void): Disposable;
} & Disposable;

const LOOK_EVERY_MS = 4_000;

type Watched = { caller: Caller; ends: Set<() => void> };

const keyOf = ({ organizationId, credential }: Caller): string =>
  credential.kind === "key"
    ? `${organizationId} ${credential.keyId}`
    : `${organizationId} ${credential.sessionId} ${credential.expiresAt}`;

export function createCredentialWatch(auth: Auth): CredentialWatch {
  const watched = new Map<string, Watched>();
  let timer: Disposable;

  const look = async (): Promise<void> => {
    for (const [key, { caller, ends }] of watched) {
      if (await credentialValid(auth, caller)) continue;
      watched.delete(key);
      for (const end of ends) end();
    }
  };

  const arm = (): void => {
    timer = auth.clock.at(auth.clock.now() + LOOK_EVERY_MS, () => {
      // Without its database nobody can say: connections stay until it is back.
      look()
        .catch((error: unknown) => auth.log.warn({ reason: messageOf(error) }, "credentials could not be looked at"))
        .finally(arm);
    });
  };
  arm();

  return {
    watch: (caller, end) => {
      const key = keyOf(caller);
      const { ends } = watched.get(key) ?? watched.set(key, { caller, ends: new Set() }).get(key)!;
      ends.add(end);
      return {
        [Symbol.dispose]: () => {
          if (ends.delete(end) && ends.size === 0 && watched.get(key)?.ends === ends) watched.delete(key);
        },
      };
    },
    [Symbol.dispose]: () => {
      watched.clear();
      timer[Symbol.dispose]();
    },
  };
}
