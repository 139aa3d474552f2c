/**
 * Passwords at rest: argon2id with 19 MiB, two passes, one lane (OWASP's first choice). A hash costs about 30 ms of a
 * thread and 19 MiB, so two of the eight threads do it at once and few wait: a flood of sign-ins takes neither the
 * threads that files and look-ups of names need, nor memory, nor all places of those who have signed in before.
 */
import { hash, verify } from "@node-rs/argon2";
import { Refusal } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { createTurns, type Who } from "../../fairness/turns.ts";
import { composed } from "../../lib/text.ts";

const ARGON2ID = 2;
const COST = { algorithm: ARGON2ID, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** The hash of no password. It is verified when the e-mail is unknown, so that the answer takes as long as for a wrong password. */
const NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$ipRmTt6QCtb9qbh3Aa+mgg$zmF1P5gpDIqe19TzkR7wws1Gu262jhlx/p/PdQbmDts";

export type Passwords = {
  /** Its PHC text, for whom it was already decided that they may. Throws RATE_LIMITED when too many wait. */
  hash(password: string): Promise<string>;
  /**
   * `find` is called when it is `who`'s turn and answers the stored text; undefined: false, in the same time. Throws
   * RATE_LIMITED when too many wait, and what `find` throws.
   */
  verify(who: Who, find: () => Promise<string | undefined>, password: string): Promise<boolean>;
};

/** By then, half of those that may wait have had their turn. */
const RETRY_AFTER_SECONDS = 2;

/** The same letters typed on two keyboards may arrive composed or decomposed. */
const normal = (password: string): string => composed(password, LIMITS.passwordCharactersMost, "NFKC");

export const samePassword = (one: string, other: string): boolean => normal(one) === normal(other);

export function createPasswords(): Passwords {
  const turns = createTurns({
    atOnce: LIMITS.passwordsAtOnce,
    waiting: LIMITS.passwordsWaiting,
    waitingPerGroup: LIMITS.passwordsWaitingPerAddress,
    refusal: () =>
      new Refusal(
        "RATE_LIMITED",
        `too many people are signing in at this moment (at most ${LIMITS.passwordsWaiting} may wait, ${LIMITS.passwordsWaitingPerAddress} per address): try again in ${RETRY_AFTER_SECONDS} s`,
        {
          retryAfter: RETRY_AFTER_SECONDS,
        },
      ),
  });
  return {
    hash: (password) => turns({ group: "", isKnown: true }, () => hash(normal(password), COST)),
    verify: (who, find, password) =>
      turns(who, async () => {
        const stored = await find();
        const matches = await verify(stored ?? NOBODY, normal(password));
        return matches && stored !== undefined;
      }),
  };
}
