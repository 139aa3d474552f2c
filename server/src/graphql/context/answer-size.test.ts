import { expect, test } from "vitest";
import { FairShare } from "../../fairness/fair-share.ts";
import { newId, type OrganizationId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { AnswerSize } from "./answer-size.ts";

/** Below it nothing is taken from the budget. */
const SMALL = 16 * 1024;
const KB = 1024;

const opened = (bytes: number) => {
  const budget = new FairShare(bytes);
  const organizationId: OrganizationId = newId<"organization">();
  const taken = (): number => budget.takenBy(organizationId);
  return { size: new AnswerSize(budget, organizationId), budget, organizationId, taken };
};

test("a small answer takes nothing; of a larger one all is taken, its text in the end, and given back once it is read", () => {
  const { size, taken } = opened(1_000 * KB);
  size.charge(SMALL);
  expect(taken()).toBe(0);
  size.charge(1);
  expect(taken()).toBe(SMALL + 1);
  size.charge(100 * KB);
  expect(taken()).toBe(SMALL + 1 + 100 * KB);
  size.settle(40 * KB);
  expect(taken()).toBe(40 * KB);
  size.clear();
  expect(taken()).toBe(0);
  size.settle(SMALL);
  expect(taken()).toBe(0);
});

test("what is still read for an answer that is over takes nothing any more", () => {
  const { size, taken } = opened(1_000 * KB);
  size.charge(100 * KB);
  size[Symbol.dispose]();
  expect(taken()).toBe(0);
  size.charge(100 * KB);
  expect(taken()).toBe(0);
  size.settle(100 * KB);
  expect(taken()).toBe(0);
});

test("one refusal, the same for whatever else the answer reads; the next event of a subscription starts over", () => {
  const { size, budget, organizationId, taken } = opened(100 * LIMITS.answerBytes);
  const refusalOf = (work: () => void): unknown => {
    try {
      work();
      return undefined;
    } catch (error) {
      return error;
    }
  };
  for (const [code, work] of [
    ["QUERY_TOO_COMPLEX", () => size.charge(LIMITS.answerBytes + 1)],
    ["QUERY_TOO_COMPLEX", () => size.addValues(LIMITS.queryValues + 1)],
  ] as const) {
    const refusal = refusalOf(work);
    expect(refusal).toMatchObject({ code });
    expect([size.refusal, refusalOf(() => size.charge(1)), refusalOf(() => size.addValues(1))]).toEqual([
      refusal,
      refusal,
      refusal,
    ]);
    size.clear();
    expect([size.refusal, taken()]).toEqual([undefined, 0]);
    size.charge(LIMITS.answerBytes);
    size.addValues(LIMITS.queryValues);
    size.clear();
  }
  budget.take(organizationId, 60 * LIMITS.answerBytes);
  expect(refusalOf(() => size.charge(100 * KB))).toMatchObject({ code: "UNAVAILABLE", details: { retryAfter: 1 } });
  budget.give(organizationId, 60 * LIMITS.answerBytes);
  size.clear();
  size.charge(100 * KB);
  expect(taken()).toBe(100 * KB);
});
