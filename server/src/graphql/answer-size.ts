/**
 * What an answer takes while it is made and until its reader has it: noticed while reading, as a refusal of the whole
 * operation. `budget` is what all answers of the process share; a small one is not worth the count.
 */
import type { ByteBudget } from "../lib/byte-budget.ts";
import { Refusal } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";

/** Below it nothing is taken from the budget. */
const SMALL_BYTES = 16 * 1024;

export class AnswerSize implements Disposable {
  readonly #budget: ByteBudget;
  readonly #organizationId: OrganizationId | undefined;
  #bytes = 0;
  #values = 0;
  #taken = 0;
  #refusal: Refusal | undefined;
  #isOver = false;

  constructor(budget: ByteBudget, organizationId: OrganizationId | undefined) {
    this.#budget = budget;
    this.#organizationId = organizationId;
  }

  /** Why there is no answer. */
  get refusal(): Refusal | undefined {
    return this.#refusal;
  }

  /** Before so much more is read or answered. Throws QUERY_TOO_COMPLEX or UNAVAILABLE, the same one from then on. */
  charge(bytes: number): void {
    if (this.#refusal) throw this.#refusal;
    if (this.#isOver) return;
    this.#bytes += bytes;
    if (this.#bytes > LIMITS.answerBytes) throw (this.#refusal = tooLarge());
    const more = this.#bytes - this.#taken;
    if (more <= SMALL_BYTES) return;
    if (!this.#budget.tryTake(this.#organizationId, more)) throw (this.#refusal = tooMuchUnderWay());
    this.#taken += more;
  }

  /** Values beside those that the query's cost counts. */
  addValues(count: number): void {
    if (this.#refusal) throw this.#refusal;
    this.#values += count;
    if (this.#values > LIMITS.queryValues) throw (this.#refusal = tooManyValues());
  }

  /** The answer is written: its text is what is held from now on. */
  settle(bytes: number): void {
    this.clear();
    if (bytes <= SMALL_BYTES || this.#isOver) return;
    this.#taken = bytes;
    this.#budget.take(this.#organizationId, bytes);
  }

  /** Nothing is held any more; for the next event of a subscription too. */
  clear(): void {
    if (this.#taken > 0) this.#budget.give(this.#organizationId, this.#taken);
    this.#taken = this.#bytes = this.#values = 0;
    this.#refusal = undefined;
  }

  /** For good: what is still under way is thrown away. */
  [Symbol.dispose](): void {
    this.clear();
    this.#isOver = true;
  }
}

const tooLarge = (): Refusal =>
  new Refusal(
    "QUERY_TOO_COMPLEX",
    `the answer would be larger than ${LIMITS.answerBytes} bytes: ask for fewer with first, or for input, output and error of one object at a time`,
  );

const tooManyValues = (): Refusal =>
  new Refusal("QUERY_TOO_COMPLEX", `the answer would have more than ${LIMITS.queryValues} values: ask for fewer`);

const tooMuchUnderWay = (): Refusal =>
  new Refusal("UNAVAILABLE", "the answers under way hold as much as they may: read them, then ask again", {
    retryAfter: 1,
  });
