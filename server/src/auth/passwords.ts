/**
 * Passwords at rest: argon2id with 19 MiB, two passes, one lane (OWASP's first choice). A hash costs about 30 ms and
 * 19 MiB, so at most two run at once and 256 wait (some 4 s): a flood of sign-ins takes neither memory nor all processors.
 */
import { hash, verify } from "@node-rs/argon2";
import { Refusal } from "../lib/errors.ts";

const ARGON2ID = 2;
const COST = { algorithm: ARGON2ID, memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const AT_ONCE = 2;
const WAITING = 256;

/** Of no password: verified when the e-mail is unknown, so that the answer takes as long as for a wrong password. */
const NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$ipRmTt6QCtb9qbh3Aa+mgg$zmF1P5gpDIqe19TzkR7wws1Gu262jhlx/p/PdQbmDts";

export type Passwords = {
  /** Its PHC text. Throws RATE_LIMITED when too many wait. */
  hash(password: string): Promise<string>;
  /**
   * `find` is called when it is its turn and answers the stored text; undefined: false, in the same time. Throws
   * RATE_LIMITED when too many wait, and what `find` throws.
   */
  verify(find: () => Promise<string | undefined>, password: string): Promise<boolean>;
};

export function createPasswords(): Passwords {
  const slots = createSlots(AT_ONCE, WAITING);
  // The same letters typed on two keyboards may arrive composed or decomposed.
  const same = (password: string): string => password.normalize("NFKC");
  return {
    hash: (password) => slots(() => hash(same(password), COST)),
    verify: (find, password) =>
      slots(async () => {
        const stored = await find();
        const matches = await verify(stored ?? NOBODY, same(password));
        return matches && stored !== undefined;
      }),
  };
}

/** Runs at most `atOnce` at a time, in order; refuses beyond `most` waiting. */
export function createSlots(atOnce: number, most: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < atOnce) running++;
    else {
      if (waiting.length >= most) {
        throw new Refusal("RATE_LIMITED", "too many people are signing in at this moment", { retryAfter: 1 });
      }
      // The slot is handed over by the one that ends, so nobody can slip in between.
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
