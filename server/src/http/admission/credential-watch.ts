/** Ends long connections when their credential ends or its rights change. Each credential in use is checked every 4 s, from memory at most 5 s old. */
import { callerNow, mayTheSame } from "../../auth/admission/admission.ts";
import type { Auth } from "../../auth/handle/auth.ts";
import type { Caller } from "../../auth/caller.ts";
import { messageOf } from "../../lib/errors.ts";
import { Loop, type Round } from "../../lib/loops/loop.ts";
import { Roll } from "../../lib/roll.ts";

export type CredentialWatch = {
  /** Calls `end` once when the credential has expired or was revoked, or when its role or reach has changed. */
  watch(caller: Caller, end: () => void): Disposable;
  loop: Loop;
} & AsyncDisposable;

const LOOK_EVERY_MS = 4_000;
const FAILED = "credentials could not be looked at";
/** One after another 10,000 took longer than all of the 10 s; an organization's own take turns at the database. */
const LOOKED_AT_ONCE = 64;

/** Every request that waits has one for a moment, so it costs an object and no more. */
class Watched implements Disposable {
  place = -1;
  readonly caller: Caller;
  readonly end: () => void;
  readonly #all: Roll<Watched>;

  constructor(all: Roll<Watched>, caller: Caller, end: () => void) {
    this.#all = all;
    this.caller = caller;
    this.end = end;
    all.add(this);
  }

  [Symbol.dispose](): void {
    this.#all.delete(this);
  }
}

const keyOf = ({ organizationId, credential }: Caller): string =>
  credential.kind === "key"
    ? `${organizationId} ${credential.keyId}`
    : `${organizationId} ${credential.sessionId} ${credential.expiresAt}`;

export function createCredentialWatch(auth: Auth): CredentialWatch {
  const watched = new Roll<Watched>();

  /** One that cannot be looked at holds up no other. */
  const lookAt = async (ofOne: readonly Watched[]): Promise<void> => {
    const now = await callerNow(auth, ofOne[0]!.caller);
    // Each by itself: connections from before a change of role or reach differ from later ones.
    for (const one of ofOne) if (!(now && mayTheSame(now, one.caller)) && watched.delete(one)) one.end();
  };

  const look = async (round: Round): Promise<void> => {
    const all = [...byCredential(watched).values()];
    for (let next = 0; next < all.length && round.goesOn(); next += LOOKED_AT_ONCE) {
      const looks = await Promise.allSettled(all.slice(next, next + LOOKED_AT_ONCE).map(lookAt));
      const notKnown = looks.find((one) => one.status === "rejected");
      // Without the database nobody can know: connections stay open until it is back.
      if (notKnown) auth.log.warn({ reason: messageOf(notKnown.reason) }, FAILED);
    }
  };

  const { clock, log } = auth;
  const loop = new Loop({ clock, log, name: "credentials", everyMs: LOOK_EVERY_MS, look, failed: FAILED });
  loop.start(clock.now() + LOOK_EVERY_MS);
  return {
    watch: (caller, end) => new Watched(watched, caller, end),
    loop,
    [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose](),
  };
}

function byCredential(watched: Iterable<Watched>): Map<string, Watched[]> {
  const found = new Map<string, Watched[]>();
  for (const one of watched) {
    const key = keyOf(one.caller);
    const same = found.get(key);
    if (same) same.push(one);
    else found.set(key, [one]);
  }
  return found;
}
