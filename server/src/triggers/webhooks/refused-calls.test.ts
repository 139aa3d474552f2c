import { expect, test } from "vitest";
import { testClock } from "../../../../test/clock.ts";
import { newId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { createRefusedCalls, type RefusedCalls } from "./refused-calls.ts";

type Target = Parameters<RefusedCalls["count"]>[0];
const triggerOf = (organizationId = newId<"organization">()): Target => ({ id: newId<"trigger">(), organizationId });
const TOO_MANY = expect.objectContaining({ code: "RATE_LIMITED" });

test("the organization with most entries of refused calls loses one first: another's count stays", () => {
  const calls = createRefusedCalls(testClock());
  const mine = triggerOf();
  for (let count = 0; count < LIMITS.refusedCallsPerAddress; count++) calls.count(mine, "10.0.0.1");
  expect(() => calls.count(mine, "10.0.0.1")).toThrow(TOO_MANY);
  const flooded = newId<"organization">();
  const first = triggerOf(flooded);
  for (let count = 0; count < LIMITS.refusedCallsPerAddress; count++) calls.count(first, "10.0.0.1");
  // Two entries each.
  for (let count = 0; count < 5_000; count++) calls.count(triggerOf(flooded), "10.0.0.1");
  // Its own oldest is forgotten, and starts over.
  expect(() => calls.count(first, "10.0.0.1")).not.toThrow();
  expect(() => calls.count(mine, "10.0.0.1")).toThrow(TOO_MANY);
});
