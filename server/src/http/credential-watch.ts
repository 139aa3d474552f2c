/** Long connections end with their credential. Each credential in use is checked every 4 s, from memory at most 5 s old. */
import { isStillValid } from "../auth/admission.ts";
import type { Auth } from "../auth/auth.ts";
import type { Caller } from "../auth/caller.ts";
import { messageOf } from "../lib/errors.ts";

export type CredentialWatch = {
  /** Calls `end` once when the credential has expired or was revoked. */
  watch(caller: Caller, end: () => void): Disposable;
} & Disposable;

const LOOK_EVERY_MS = 4_000;
/** One after another 10,000 took longer than all of the 10 s; an organization's own take turns at the database. */
const LOOKED_AT_ONCE = 64;

type Watched = { caller: Caller; ends: Set<() => void> };

const keyOf = ({ organizationId, credential }: Caller): string =>
  credential.kind === "key"
    ? `${organizationId} ${credential.keyId}`
    : `${organizationId} ${credential.sessionId} ${credential.expiresAt}`;

export function createCredentialWatch(auth: Auth): CredentialWatch {
  const watched = new Map<string, Watched>();
  let timer: Disposable;

  /** One that cannot be looked at holds up no other. */
  const lookAt = async ([key, { caller, ends }]: [string, Watched]): Promise<void> => {
    if (await isStillValid(auth, caller)) return;
    if (watched.get(key)?.ends === ends) watched.delete(key);
    for (const end of ends) end();
  };

  const look = async (): Promise<void> => {
    const all = [...watched];
    for (let next = 0; next < all.length; next += LOOKED_AT_ONCE) {
      const looks = await Promise.allSettled(all.slice(next, next + LOOKED_AT_ONCE).map(lookAt));
      const failed = looks.find((one) => one.status === "rejected");
      // Without the database nobody can know: connections stay open until it is back.
      if (failed) auth.log.warn({ reason: messageOf(failed.reason) }, "credentials could not be looked at");
    }
  };

  const arm = (): void => {
    timer = auth.clock.at(auth.clock.now() + LOOK_EVERY_MS, () => {
      void look().finally(arm);
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
