/** The calls that runs may have under way at a model's door. */
// Loaded first, so that a few turns of the event loop settle what is asked.
import "@ai-sdk/openai-compatible";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { randomFrom } from "../../../test/faults/random.ts";
import { createLog } from "../lib/log/log.ts";
import { newId, type OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Connection } from "./connection.ts";
import { connectionOf } from "./connection.testsuite.ts";
import type { OutboundResponse } from "../outbound/outbound.ts";
import { OverBudget, type Budgets } from "../rates/budgets.ts";
import { Crowd } from "./crowd.ts";
import { createLlm } from "./llm.ts";

const { modelCallsAtOnce, modelCallsAtOnceOwn, modelCallsWaitingOwn } = LIMITS;

/** A door behind which nothing answers, and how often it was asked. */
function opened(
  answer: (asked: number) => Promise<OutboundResponse> = () => new Promise(() => {}),
  budgets: Pick<Budgets, "reserve"> = { reserve: async () => ({ isOpen: true, settle: () => {} }) },
) {
  const clock = testClock();
  let asked = 0;
  const outbound = { request: () => answer(asked++) };
  const llm = createLlm({
    own: undefined,
    clock,
    log: createLog("silent"),
    usage: { modelTokens: () => {} },
    budgets,
    operator: { has: async () => false },
    outbound,
  });
  const call = (
    organizationId: OrganizationId,
    own: Partial<Connection> = {},
    signal = new AbortController().signal,
  ): Promise<unknown> => {
    const run = { id: newId<"run">(), parentId: undefined };
    const by = { organizationId, signal, timeoutMs: 60_000, turn: () => undefined, run };
    const answer = llm.call(connectionOf({ id: newId(), ...own }), by, { messages: [{ role: "user", text: "Hi" }] });
    return answer.catch((error: unknown) => error);
  };
  const settle = async (): Promise<number> => {
    for (let before = -1; before !== asked;) {
      before = asked;
      for (let turns = 0; turns < 20; turns++) await nextTurn();
    }
    return asked;
  };
  const use = (connection: Connection): Promise<unknown> =>
    llm
      .use(connection, { organizationId: newId(), signal: new AbortController().signal }, (asking) =>
        asking({ messages: [{ role: "user", text: "Hi" }] }),
      )
      .catch((error: unknown) => error);
  return { clock, call, settle, use };
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

test("an organization's calls that wait are counted over all of its connections", async () => {
  const { call, settle } = opened();
  const own = newId<"organization">();
  const narrow = { limits: { concurrency: 1, tokensPerDay: null, costPerDay: null } };
  const [one, other] = [
    { ...narrow, id: newId<"modelConnection">() },
    { ...narrow, id: newId<"modelConnection">() },
  ];
  void call(own, one);
  // A call that was given up waits no longer.
  const left = new AbortController();
  const given = call(own, one, left.signal);
  await settle();
  left.abort(new Error("left"));
  expect(await given).toMatchObject({ message: "left" });
  void call(own, other);
  let over = 0;
  for (let count = 0; count < modelCallsWaitingOwn; count++) void call(own, count % 2 ? one : other).then(() => over++);
  expect([await settle(), over]).toEqual([2, 0]);
  expect(await call(own, one)).toMatchObject({ problem: "too_often" });
  expect(await call(own, other)).toMatchObject({ problem: "too_often" });
  void call(own);
  expect(await settle()).toBe(3);
});

test("calls that find no place come again one after the other, within ten minutes", async () => {
  const { clock, call } = opened();
  const own = newId<"organization">();
  for (let count = 0; count < modelCallsAtOnceOwn + modelCallsWaitingOwn; count++) void call(own);
  const times: number[] = [];
  for (let count = 0; count < 200; count++)
    times.push(((await call(own)) as { heldUntil: number }).heldUntil - clock.now());
  expect(times.slice(0, 3)).toEqual([2_000, 2_010, 2_020]);
  expect(new Set(times).size).toBe(200);
  const crowd = new Crowd(clock);
  const many = Array.from({ length: 70_000 }, () => crowd.next() - clock.now());
  expect(Math.max(...many.slice(0, 59_801), 0)).toBe(600_000);
  expect(many.slice(59_801, 59_803)).toEqual([2_000, 2_010]);
});

const REFUSED = {
  status: 429,
  statusText: "",
  headers: { "retry-after": "60" },
  body: new Uint8Array(),
  url: "",
  setCookies: [],
};

test("a connection in use keeps its limit, however many others are asked meanwhile", async () => {
  const { call, settle } = opened((asked) => (asked === 0 ? new Promise(() => {}) : Promise.resolve(REFUSED)));
  const own = newId<"organization">();
  const narrow = {
    id: newId<"modelConnection">(),
    limits: { concurrency: 1, tokensPerDay: null, costPerDay: null },
  };
  void call(own, narrow);
  expect(await settle()).toBe(1);
  for (let count = 0; count < 1_001; count++) await call(newId<"organization">());
  void call(own, narrow);
  expect(await settle()).toBe(1_002);
});

test("a call that waited in line asks nothing of an endpoint that wants a pause by then", async () => {
  let asked = 0;
  const { call } = opened(async () => (asked++, REFUSED));
  const own = newId<"organization">();
  const narrow = {
    id: newId<"modelConnection">(),
    limits: { concurrency: 1, tokensPerDay: null, costPerDay: null },
  };
  const answers = await Promise.all([1, 2, 3].map(() => call(own, narrow)));
  const times = answers.map((answer) => (answer as { heldUntil: number }).heldUntil);
  expect(new Set(times).size).toBe(3);
  expect(asked).toBe(1);
});

test("a pause is of an endpoint and a key: another one is asked at once", async () => {
  const { call, settle } = opened(async () => REFUSED);
  const own = newId<"organization">();
  const id = newId<"modelConnection">();
  for (let times = 0; times < 2; times++)
    expect(await call(own, { id, apiKey: "one" })).toMatchObject({ problem: "rate_limited" });
  expect(await settle()).toBe(1);
  await call(own, { id, apiKey: "two" });
  await call(own, { id, apiKey: "two", baseUrl: "http://127.0.0.1:2/v1" });
  await call(own, { id, apiKey: "two", apiKeyHeader: "api-key", baseUrl: "http://127.0.0.1:2/v1" });
  expect(await settle()).toBe(4);
});

test("a call that is given up while it waits for its budgets asks nothing, and says so to them", async () => {
  const over = new AbortController();
  const reserve = async (_: unknown, signal?: AbortSignal) => {
    const { promise, reject } = Promise.withResolvers<never>();
    signal!.addEventListener("abort", () => reject(signal!.reason));
    return promise;
  };
  const { call, settle } = opened(undefined, { reserve });
  const answer = call(newId<"organization">(), {}, over.signal);
  await settle();
  over.abort(new Error("cancelled"));
  expect(await answer).toMatchObject({ message: "cancelled" });
  expect(await settle()).toBe(0);
});

test("a 503 that says a time holds the call until then, as a 429 does; one that says none fails it", async () => {
  const answer = { ...REFUSED, status: 503 };
  const { clock, call } = opened(async () => answer);
  const until = clock.now() + 60_000;
  expect(await call(newId<"organization">())).toMatchObject({ problem: "rate_limited", heldUntil: until });
  const other = opened(async () => ({ ...answer, headers: {} }));
  expect(await other.call(newId<"organization">())).toMatchObject({ status: 503, heldUntil: undefined });
});

test("people who wait for an answer ask nothing during a pause, whoever was asked for it", async () => {
  const { call, settle, use } = opened(async () => ({ ...REFUSED, headers: {} }));
  const connection = connectionOf({ id: newId() });
  await call(newId<"organization">(), connection);
  expect(await settle()).toBe(1);
  expect(await use(connection)).toMatchObject({ problem: "rate_limited", status: undefined });
  expect(await settle()).toBe(1);
});

const ANSWERED: OutboundResponse = {
  ...REFUSED,
  status: 200,
  headers: { "content-type": "application/json" },
  body: Buffer.from(
    JSON.stringify({
      choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hello" } }],
    }),
  ),
};
const BROKEN = { ...REFUSED, status: 500, headers: {} };

test("in any order of asking, giving up, failing and answering, no place is lost and nobody waits for a free one", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const { next, between, pick } = randomFrom(seed);
    const asked: PromiseWithResolvers<OutboundResponse>[] = [];
    let hasRoom = false;
    const budgets: Pick<Budgets, "reserve"> = {
      async reserve(_, signal) {
        if (next() < 0.3) await nextTurn();
        signal!.throwIfAborted();
        if (hasRoom) return { isOpen: true, settle: () => {} };
        if (next() < 0.1) throw new OverBudget("no room", next() < 0.5);
        return { isOpen: true, settle: () => {} };
      },
    };
    const { call, settle } = opened(() => {
      const answer = Promise.withResolvers<OutboundResponse>();
      asked.push(answer);
      return answer.promise;
    }, budgets);
    const limits = { concurrency: 2, tokensPerDay: null, costPerDay: null };
    const connections = [
      { id: newId<"modelConnection">(), limits },
      { id: newId<"modelConnection">(), limits },
    ];
    const organizations = [newId<"organization">(), newId<"organization">()];
    const calls: { isOver: boolean; left: AbortController }[] = [];
    const ask = (): void => {
      const one = { isOver: false, left: new AbortController() };
      calls.push(one);
      void call(pick(organizations), pick(connections), one.left.signal).finally(() => (one.isOver = true));
    };
    const answerOne = (): void => asked.splice(between(0, asked.length - 1), 1)[0]?.resolve(pick([ANSWERED, BROKEN]));
    for (let times = 0; times < 60; times++) {
      if (next() < 0.5) ask();
      else if (next() < 0.4) pick([...calls, undefined])?.left.abort(new Error("left"));
      else answerOne();
      if (next() < 0.3) await nextTurn();
    }
    // A call that was given up has its place until it is answered.
    for (let left = calls.length; left > 0 && calls.some(({ isOver }) => !isOver); left--) {
      await settle();
      asked.splice(0).forEach((answer) => answer.resolve(ANSWERED));
    }
    await settle();
    expect(
      calls.filter(({ isOver }) => !isOver),
      `seed ${seed}`,
    ).toEqual([]);
    hasRoom = true;
    const before = await settle();
    for (const connection of connections)
      for (let count = 0; count < 3; count++) void call(organizations[0]!, connection);
    expect((await settle()) - before, `seed ${seed}`).toBe(4);
  }
});
