import { expect, test } from "vitest";
import { conflict, Refusal } from "../../lib/errors.ts";
import { refusalOf } from "./events.ts";

const rejected = (reason: unknown): PromiseRejectedResult => ({ status: "rejected", reason });
const differs = conflict("key_reused", "this event was published before with another body");
const later = new Refusal("UNAVAILABLE", "later", { retryAfter: 1 });
const [bug, other] = [new Error("a bug"), new Error("another one")];

/** `logged`: what is not told. */
function told(...reasons: unknown[]): { told: unknown; logged: unknown[] } {
  const logged: unknown[] = [];
  const log = { error: (about: object): void => void logged.push((about as { err: unknown }).err) };
  return { told: refusalOf(reasons.map(rejected), log), logged };
}

test("of a batch, what may be sent again is told before what failed, and every failure is logged", () => {
  expect(told(differs, bug, later, other)).toEqual({ told: later, logged: [bug, other] });
  expect(told(differs, bug, other)).toEqual({ told: bug, logged: [other] });
  expect(told(differs)).toEqual({ told: differs, logged: [] });
  expect(told(differs, differs)).toMatchObject({ told: { code: "CONFLICT", details: { reason: "key_reused" } } });
});
