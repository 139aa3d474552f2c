/** The calls that runs may have under way at a model's door. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { createLog } from "../lib/log/log.ts";
import { newId, type OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Connection } from "./connection.ts";
import { createLlm } from "./llm.ts";

const { modelCallsAtOnce, modelCallsAtOnceOwn, modelCallsWaitingOwn } = LIMITS;

/** A door behind which nothing answers, and how often it was asked. */
function opened() {
  const clock = testClock();
  let asked = 0;
  const outbound = { request: () => (asked++, new Promise<never>(() => {})) };
  const llm = createLlm({
    own: undefined,
    clock,
    log: createLog("silent"),
    usage: { modelTokens: () => {} },
    operator: { has: async () => false },
    outbound,
  });
  const call = (organizationId: OrganizationId): Promise<unknown> => {
    const connection: Connection = {
      id: newId(),
      name: "cheap",
      provider: "openai_compatible",
      baseUrl: "http://127.0.0.1:1/v1",
      model: "m",
      apiKey: undefined,
      prices: null,
      limits: null,
    };
    const by = { organizationId, signal: new AbortController().signal, timeoutMs: 60_000, turn: () => undefined };
    const answer = llm.call(connection, by, { messages: [{ role: "user", text: "Hi" }] });
    return answer.catch((error: unknown) => error);
  };
  const settle = async (): Promise<number> => {
    for (let before = -1; before !== asked;) {
      before = asked;
      for (let turns = 0; turns < 20; turns++) await nextTurn();
    }
    return asked;
  };
  return { clock, call, settle };
}

test("one organization has its calls at once; as many wait as may, and a further one is to come again", async () => {
  const { clock, call, settle } = opened();
  const own = newId<"organization">();
  for (let count = 0; count < modelCallsAtOnceOwn + modelCallsWaitingOwn; count++) void call(own);
  expect(await settle()).toBe(modelCallsAtOnceOwn);
  expect(await call(own)).toMatchObject({ problem: "too_often", heldUntil: expect.any(Number) });
  const late = (await call(own)) as { heldUntil: number };
  expect(late.heldUntil).toBeGreaterThan(clock.now());
  void call(newId<"organization">());
  expect(await settle()).toBe(modelCallsAtOnceOwn + 1);
});

test("of all organizations no more are under way than the process allows", async () => {
  const { call, settle } = opened();
  for (let count = 0; count < modelCallsAtOnce / modelCallsAtOnceOwn + 1; count++) {
    const own = newId<"organization">();
    for (let calls = 0; calls < modelCallsAtOnceOwn; calls++) void call(own);
  }
  expect(await settle()).toBe(modelCallsAtOnce);
});
