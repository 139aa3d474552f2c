/**
 * The memory that an answer takes until its reader has it. Too much is noticed while reading, and refuses the whole
 * operation. All answers of the process share `budget`; small answers are not worth counting.
 */
import type { FairShare } from "../../fairness/fair-share.ts";
import { Refusal } from "../../lib/errors.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";

/** Below it nothing is taken from the budget. */
const SMALL_BYTES = 16 * 1024;

export class AnswerSize implements Disposable {
  readonly #budget: FairShare;
  readonly #organizationId: OrganizationId | undefined;
  #bytes = 0;
  #values = 0;
  #taken = 0;
  #refusal: Refusal | undefined;
  #isOver = false;

  constructor(budget: FairShare, organizationId: OrganizationId | undefined) {
    this.#budget = budget;
    this.#organizationId = organizationId;
  }

  /** Why there is no answer. */
  get refusal(): Refusal | undefined {
    return this.#refusal;
  }

  /** Called before so much more is read or answered. Throws QUERY_TOO_COMPLEX or UNAVAILABLE, and the same error from then on. */
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

  /** Values besides those that the query's cost counts. */
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

  /** Nothing is held any longer. Also called before the next event of a subscription. */
  clear(): void {
    if (this.#taken > 0) this.#budget.give(this.#organizationId, this.#taken);
    this.#taken = this.#bytes = this.#values = 0;
    this.#refusal = undefined;
  }

  /** The end: whatever is still under way is thrown away. */
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
  new Refusal("UNAVAILABLE", "answers that you have not read yet hold too much memory: read them, then try again", {
    retryAfter: 1,
  });
