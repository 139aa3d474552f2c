/** Triggers and their policies: waits for runs, overlaps, other URLs, replays, and who receives what. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectInTime } from "./in-time.ts";
import { publish } from "./agents.ts";
import { decodeId } from "../server/src/lib/ids.ts";
import { eventually, type Data } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import { agentOf, readRun } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";
import { call, firingsOf, webhookOf, type Called, type Webhook } from "./webhooks.ts";

let server: MovedServer;
let echo: string;
let three: string;
let patient: string;
beforeAll(async () => {
  server = await movedServer();
  [echo, three, patient] = [
    await publish(server, "echo"),
    await publish(server, "three"),
    await publish(server, "patient"),
  ];
});
afterAll(() => server[Symbol.asyncDispose]());

const statusOf = async (id: string): Promise<string> =>
  (await server.data(`{ run(id: "${id}") { status } }`)).run.status;
const outcomesOf = async (hook: Webhook): Promise<string[]> =>
  (await firingsOf(server, hook)).map(({ outcome }) => outcome).toReversed();

describe("?wait", () => {
  test("answers the output of a run that ended in time, in whatever state", async () => {
    const hook = await webhookOf(server, three, { name: "waits" });
    const { status, body } = await call(`${hook.url}?wait=20`, { n: 1 });
    expect({ status, body }).toEqual({
      status: 200,
      body: { runId: expect.stringMatching(/^run_/), status: "completed", output: { n: 4 } },
    });
    const failing = await webhookOf(server, await publish(server, "failing"), { name: "fails" });
    expect(await call(`${failing.url}?wait=20`)).toMatchObject({
      status: 200,
      body: { status: "failed", output: null },
    });
    const large = { text: "x".repeat(100_000) };
    const other = await webhookOf(server, echo, { name: "large" });
    expect((await call(`${other.url}?wait=20`, large)).body.output).toEqual(large);
  });

  test("answers 202 when it has not ended, and a repeat waits too", async () => {
    const hook = await webhookOf(server, patient, { name: "waits in vain" });
    const headers = { "idempotency-key": "one" };
    const first = await call(`${hook.url}?wait=1`, {}, { headers });
    expect(first).toMatchObject({ status: 202, body: { status: "running" } });
    const second = call(`${hook.url}?wait=20`, {}, { headers });
    await eventually(async () => (await outcomesOf(hook)).includes("duplicate"));
    await server.data(`mutation { cancelRun(runId: "${first.body.runId}") { id } }`);
    expect(await second).toMatchObject({ status: 200, body: { runId: first.body.runId, status: "cancelled" } });
  });

  test.each([
    ["its URL is replaced", "mutation { rotateWebhookToken(input: {triggerId: $, overlapMinutes: 0}) { id } }"],
    ["its trigger is deleted", "mutation { deleteTrigger(input: {triggerId: $}) { id } }"],
  ])("ends within 10 s when %s: the run goes on", async (name, mutation) => {
    const hook = await webhookOf(server, patient, { name });
    let answered = false;
    const held = call(`${hook.url}?wait=30`).finally(() => (answered = true));
    const [{ run }] = await eventually(async () => {
      const started = await firingsOf(server, hook, ["started"]);
      return started.length > 0 ? started : undefined;
    });
    await server.clock.advance(9_000);
    expect(answered).toBe(false);
    await server.data(mutation.replace("$", JSON.stringify(hook.id)));
    await server.clock.advance(9_000);
    expect(await held).toMatchObject({ status: 404, errors: [{ message: "Webhook not found" }] });
    expect(await statusOf(run.id)).toBe("running");
  });

  test.each(["0", "31", "-1", "1.5", "", "x"])("of %j is refused", async (seconds) => {
    const hook = await webhookOf(server, echo, { name: `wait ${seconds}` });
    expect(await call(`${hook.url}?wait=${seconds}`)).toMatchObject({
      status: 422,
      errors: [{ message: expect.stringContaining("1 to 30"), extensions: { fields: [{ path: "wait" }] } }],
    });
  });
});

describe("while the run before is open", () => {
  const hookWith = (overlap: string | undefined, agent = patient): Promise<Webhook> =>
    webhookOf(server, agent, { name: `overlap ${overlap}`, ...(overlap && { policy: { overlap } }) });

  test.each([undefined, "allow"])("%s starts another", async (overlap) => {
    const hook = await hookWith(overlap);
    for (let count = 0; count < 3; count++) expect((await call(hook.url)).status).toBe(202);
    expect(await outcomesOf(hook)).toEqual(["started", "started", "started"]);
  });

  test("skip starts none, however many come at once, and the next one after its end", async () => {
    const hook = await hookWith("skip");
    const many = await Promise.all(Array.from({ length: 20 }, () => call(hook.url, { a: 1 })));
    const started = many.filter(({ status }) => status === 202);
    expect(started).toHaveLength(1);
    expect(many.filter(({ status }) => status === 200).map(({ body }) => body)).toEqual(
      Array.from({ length: 19 }, () => ({ runId: null, status: "skipped" })),
    );
    const [skipped] = (await firingsOf(server, hook, ["skipped"])) as [Data];
    expect(skipped).toMatchObject({ policy: "overlap", skipped: 1, run: null, payload: { a: 1 }, code: null });
    await server.data(`mutation { cancelRun(runId: "${started[0]!.body.runId}") { id } }`);
    expect((await call(hook.url)).status).toBe(202);
    expect((await call(hook.url)).body.status).toBe("skipped");
  });

  test("skip: a delivery that was skipped may come again, one that was started is a duplicate", async () => {
    const hook = await hookWith("skip", await publish(server, "approve"));
    const send = (key: string): Promise<Called> => call(hook.url, {}, { headers: { "idempotency-key": key } });
    const first = await send("one");
    expect((await send("two")).body.status).toBe("skipped");
    expect((await send("one")).body.runId).toBe(first.body.runId);
    await server.data(`mutation { cancelRun(runId: "${first.body.runId}") { id } }`);
    // A repeat has no run of its own, so it holds nobody up.
    expect((await send("one")).body.runId).toBe(first.body.runId);
    expect((await send("two")).status).toBe(202);
    expect(await outcomesOf(hook)).toEqual(["started", "skipped", "duplicate", "duplicate", "started"]);
    const paged: string[] = [];
    for (let after: string | null = null; after !== null || paged.length === 0;) {
      const { trigger }: Data = await server.data(
        "query($id: ID!, $after: String) { trigger(id: $id) { firings(first: 2, after: $after) { nodes { outcome } pageInfo { hasNextPage endCursor } } } }",
        { id: hook.id, after },
      );
      const { nodes, pageInfo } = trigger.firings;
      paged.push(...nodes.map(({ outcome }: Data) => outcome));
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
    }
    expect(paged.toReversed()).toEqual(await outcomesOf(hook));
  });

  test("queue starts them one after the other, in their order, also after a kill", async () => {
    const hook = await hookWith("queue");
    const runs: string[] = [];
    for (let count = 0; count < 4; count++) {
      const { status, body } = await call(hook.url, { count });
      expect(status).toBe(202);
      runs.push(body.runId);
    }
    const statuses = (): Promise<string[]> => Promise.all(runs.map(statusOf));
    const open = ["running", "pending", "pending", "pending"];
    await eventually(async () => (await statuses()).join() === open.join());
    const cancel = (id: string) => server.data(`mutation { cancelRun(runId: "${id}") { id } }`);
    await cancel(runs[0]!);
    await eventually(async () => (await statuses())[1] === "running");
    expect((await statuses()).slice(2)).toEqual(["pending", "pending"]);
    // One that waits is cancelled like any other, and holds up nobody.
    await cancel(runs[2]!);
    await server.kill();
    await server.restart();
    await eventually(async () => (await statuses()).join() === "cancelled,running,cancelled,pending");
    await cancel(runs[1]!);
    await eventually(async () => (await statuses())[3] === "running");
    expect(await outcomesOf(hook)).toEqual(["started", "started", "started", "started"]);
    await cancel(runs[3]!);
  });

  test("queue: the next one begins when the one before has ended, not when somebody looks half a second later", async () => {
    const agent = await agentOf(server, "do: [{pause: {if: '${ .hold == true }', wait: {hours: 1}}}]");
    const hook = await webhookOf(server, agent, { name: "at once", policy: { overlap: "queue" } });
    const first = (await call(hook.url, { hold: true })).body.runId;
    await Promise.all(Array.from({ length: 60 }, () => call(hook.url)));
    await server.data(`mutation { cancelRun(runId: "${first}") { id } }`);
    const isOver = async (): Promise<boolean> =>
      (await firingsOf(server, hook)).filter(({ run }) => run.status === "completed").length === 60;
    await eventually(isOver);
  });

  test("queue: runs that are cancelled while they wait make room for others", async () => {
    const hook = await webhookOf(server, patient, { name: "cancelled in the queue", policy: { overlap: "queue" } });
    const runs: string[] = [];
    for (let count = 0; count < 4; count++) runs.push((await call(hook.url)).body.runId);
    for (const id of runs.slice(1)) await server.data(`mutation { cancelRun(runId: "${id}") { id } }`);
    const last = (await call(hook.url)).body.runId;
    await server.data(`mutation { cancelRun(runId: "${runs[0]}") { id } }`);
    await eventually(async () => (await statusOf(last)) === "running");
    await server.data(`mutation { cancelRun(runId: "${last}") { id } }`);
  });

  test("queue: of many at once one runs, and an agent's own limit holds beside it", async () => {
    // Until the clock is moved.
    const agent = await agentOf(server, "do: [{pause: {wait: {hours: 1}}}]");
    const hook = await hookWith("queue", agent);
    await server.data(`mutation { setAgentLimit(input: {agentId: "${agent}", concurrency: 1}) { id } }`);
    const { runAgent } = await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
      input: { agentId: agent, input: {} },
    });
    const many = await Promise.all(Array.from({ length: 5 }, () => call(hook.url)));
    expect(many.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
    const ids = many.map(({ body }) => body.runId as string);
    // It waits.
    await eventually(async () => (await readRun(server, runAgent.id)).steps.length === 1);
    expect(await statusOf(runAgent.id)).toBe("running");
    await server.clock.advance(3_600_000);
    const first = await eventually(async () => {
      const statuses = await Promise.all(ids.map(statusOf));
      expect(statuses.filter((status) => status === "running").length).toBeLessThanOrEqual(1);
      return ids[statuses.indexOf("running")];
    });
    expect(await statusOf(runAgent.id)).toBe("completed");
    await server.data(
      `mutation { cancelRuns(input: {runs: {filter: {agentId: ["${agent}"], status: [pending, running]}}}) { cancelledCount } }`,
    );
    expect(await statusOf(first)).toBe("cancelled");
    await server.data(`mutation { setAgentLimit(input: {agentId: "${agent}", concurrency: null}) { id } }`);
  });

  test("cancelPrevious cancels it first", async () => {
    const hook = await hookWith("cancelPrevious");
    const runs: string[] = [];
    for (let count = 0; count < 3; count++) runs.push((await call(hook.url)).body.runId);
    expect(await Promise.all(runs.map(statusOf))).toEqual([
      "cancelled",
      "cancelled",
      expect.stringMatching(/running|pending/),
    ]);
    expect(await outcomesOf(hook)).toEqual(["started", "started", "started"]);
  });

  test("of many that cancel each other at once every one starts, and one stays", async () => {
    const hook = await webhookOf(server, patient, { name: "many at once", policy: { overlap: "cancelPrevious" } });
    const answers = await Promise.all(Array.from({ length: 24 }, () => call(hook.url)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
    await eventually(async () => {
      const statuses = await Promise.all(answers.map(({ body }) => statusOf(body.runId)));
      return statuses.filter((status) => status === "cancelled").length === answers.length - 1;
    }, 60_000);
  });

  test("a policy that is none is refused", async () => {
    const { errors } = await server.graphql(
      "mutation($input: CreateTriggerInput!) { createTrigger(input: $input) { id } }",
      { input: { agentId: echo, name: "x", trigger: { type: "webhook" }, policy: { overlap: "some" } } },
    );
    expect(errors).toMatchObject([
      {
        extensions: {
          fields: [
            {
              path: "input.policy.overlap",
              code: "not_a_choice",
              message: "must be one of allow, skip, queue, cancelPrevious",
            },
          ],
        },
      },
    ]);
  });
});

test("a change to a trigger delays its own firings and no other runs; they fire afterwards", async () => {
  const hook = await webhookOf(server, patient, { name: "changed", policy: { overlap: "skip" } });
  const beside = await server.organization("beside");
  const other = await publish(server, "echo", beside);
  const others = await webhookOf(server, other, { policy: { overlap: "cancelPrevious" } }, beside.apiKey);
  const run = `mutation { runAgent(input: {agentId: "${other}", wait: 30}) { status } }`;
  const holding = await connectTo(server);
  await holding.query("begin");
  await holding.query("select 1 from triggers where id = $1 for no key update", [decodeId("trigger", hook.id)]);
  /** A sender that got UNAVAILABLE and sends it again. */
  const send = async (): Promise<Called> => {
    const called = await call(hook.url);
    return called.status === 503 ? send() : called;
  };
  let answered = 0;
  const held = [send(), send(), send()].map((sent) => sent.finally(() => answered++));
  const from = Date.now();
  for (let count = 0; count < 3; count++) {
    expect((await call(others.url)).status).toBe(202);
    expect((await server.data(run, {}, beside.apiKey)).runAgent.status).toBe("completed");
  }
  expect(answered).toBe(0);
  expectInTime(Date.now() - from, 20_000);
  await holding.query("commit");
  await holding.end();
  expect((await Promise.all(held)).map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 202]);
  expect((await outcomesOf(hook)).toSorted()).toEqual(["skipped", "skipped", "started"]);
});

describe("another URL", () => {
  const ROTATE =
    "mutation($input: RotateWebhookTokenInput!) { rotateWebhookToken(input: $input) { id url configuration } }";
  const rotate = async (triggerId: string, overlapMinutes: number): Promise<string> =>
    (await server.data(ROTATE, { input: { triggerId, overlapMinutes } })).rotateWebhookToken.url;
  const statuses = async (urls: string[]): Promise<number[]> =>
    Promise.all(urls.map(async (url) => (await call(url)).status));

  test("leaves the former one good for as long as was asked, and no older one", async () => {
    const { id, url: first } = await webhookOf(server, echo, { name: "rotated" });
    const second = await rotate(id, 10);
    expect(second).not.toBe(first);
    expect(await statuses([first, second])).toEqual([202, 202]);
    const third = await rotate(id, 10);
    expect(await statuses([first, second, third])).toEqual([404, 202, 202]);
    // Looked up again just before its time is over, and not good after it for all that.
    await server.clock.advance(10 * 60_000 - 2_000);
    await statuses([second]);
    await server.clock.advance(2_000);
    expect(await statuses([first, second, third])).toEqual([404, 404, 202]);
    const fourth = await rotate(id, 0);
    expect(await statuses([third, fourth])).toEqual([404, 202]);
    const wrong = await Promise.all([call(third), call(`${fourth.slice(0, -4)}AAAA`)]);
    expect(wrong[0].body).toEqual(wrong[1].body);
    const { auditEvents } = await server.data("{ auditEvents(first: 1) { nodes { action detail subject { id } } } }");
    expect(auditEvents.nodes).toEqual([
      { action: "webhook_token_rotated", detail: { overlapMinutes: 0 }, subject: { id } },
    ]);
  });

  test("says until when the former one works, to who may change it", async () => {
    const { id } = await webhookOf(server, echo, { name: "until when" });
    const until = async (token?: string): Promise<string | null> =>
      (await server.data("query($id: ID!) { trigger(id: $id) { formerUrlUntil } }", { id }, token)).trigger
        .formerUrlUntil;
    expect(await until()).toBeNull();
    await rotate(id, 10);
    expect(Date.parse((await until())!) - (await server.clock.now())).toBeGreaterThan(9 * 60_000);
    await server.clock.advance(10 * 60_000);
    expect(await until()).toBeNull();
  });

  test("for 10,080 minutes at most", async () => {
    const { id } = await webhookOf(server, echo, { name: "a week" });
    await rotate(id, 10_080);
    for (const overlapMinutes of [10_081, -1]) {
      const { errors } = await server.graphql(ROTATE, { input: { triggerId: id, overlapMinutes } });
      expect(errors).toMatchObject([
        { message: "overlapMinutes must be 0 to 10080", extensions: { fields: [{ code: "out_of_range" }] } },
      ]);
    }
  });
});

test("a duplicate shows what came with the first one, and is fired again with it; it is kept once", async () => {
  const hook = await webhookOf(server, echo, { name: "duplicates" });
  const headers = { "idempotency-key": "one" };
  for (let count = 0; count < 2; count++) expect((await call(hook.url, { a: [1] }, { headers })).status).toBe(202);
  const [duplicate, first] = await firingsOf(server, hook);
  expect(duplicate).toMatchObject({ outcome: "duplicate", payload: { a: [1] }, run: first!["run"] });
  const client = await connectTo(server);
  const { rows } = await client.query("select outcome, payload from firings where trigger_id = $1 order by id", [
    decodeId("trigger", hook.id),
  ]);
  await client.end();
  expect(rows).toEqual([
    { outcome: "started", payload: { a: [1] } },
    { outcome: "duplicate", payload: null },
  ]);
  const { replayFiring } = await server.data(
    `mutation { replayFiring(input: {firingId: "${duplicate!["id"]}"}) { outcome payload run { input } } }`,
  );
  expect(replayFiring).toEqual({ outcome: "started", payload: { a: [1] }, run: { input: { a: [1] } } });
});

describe("a firing again", () => {
  test("has what came then, and says which it repeats", async () => {
    const hook = await webhookOf(server, three, { name: "replayed" });
    const update = "mutation($input: UpdateTriggerInput!) { updateTrigger(input: $input) { id } }";
    await call(hook.url, { n: 5, more: "kept" });
    const [first] = (await firingsOf(server, hook)) as [Data];
    await server.data(update, { input: { triggerId: hook.id, name: "replayed later" } });
    const replay =
      "mutation($input: ReplayFiringInput!) { replayFiring(input: $input) { outcome payload firedBy { kind } replayOf { id } run { id } } }";
    const { replayFiring } = await server.data(replay, { input: { firingId: first.id } });
    expect(replayFiring).toMatchObject({
      outcome: "started",
      payload: { n: 5, more: "kept" },
      firedBy: { kind: "key" },
      replayOf: { id: first.id },
    });
    await eventually(async () => (await statusOf(replayFiring.run.id)) === "completed");
    expect(replayFiring.run.id).not.toBe(first.run.id);
    await server.data(`mutation { deleteTrigger(input: {triggerId: "${hook.id}"}) { id } }`);
    const { errors } = await server.graphql(replay, { input: { firingId: first.id } });
    expect(errors).toMatchObject([{ message: "Trigger not found" }]);
  });

  test("is refused where what came was not kept, and begins with nothing where nothing came by hand", async () => {
    const hook = await webhookOf(server, echo, { name: "not kept", policy: { allowedAddresses: ["127.0.0.1"] } });
    const replay = "mutation($input: ReplayFiringInput!) { replayFiring(input: $input) { outcome payload } }";
    const update = "mutation($input: UpdateTriggerInput!) { updateTrigger(input: $input) { id } }";
    await call(hook.url, "[]");
    await call(hook.url, {}, { headers: { "content-type": "text/plain" } });
    // Not `call`: answered before all of it was sent, that sends it again.
    const large = { large: "x".repeat(1024 * 1024) };
    const headers = { "content-type": "application/json" };
    await fetch(hook.url, { method: "POST", headers, body: JSON.stringify(large) }).catch(() => {});
    await eventually(async () => (await firingsOf(server, hook)).length === 3);
    const policy = { allowedAddresses: ["192.0.2.1"] };
    await server.data(update, { input: { triggerId: hook.id, policy } });
    await call(hook.url);
    const refused = await firingsOf(server, hook, ["refused"]);
    expect(refused.map(({ code }) => code)).toEqual([
      "FORBIDDEN",
      "REQUEST_ENTITY_TOO_LARGE",
      "BAD_REQUEST",
      "BAD_REQUEST",
    ]);
    for (const { id } of refused)
      expect((await server.graphql(replay, { input: { firingId: id } })).errors).toMatchObject([
        { message: expect.stringContaining("was not kept"), extensions: { code: "CONFLICT", reason: "wrong_state" } },
      ]);
    expect(await firingsOf(server, hook)).toHaveLength(4);
    const { fireTrigger } = await server.data(
      "mutation($input: FireTriggerInput!) { fireTrigger(input: $input) { id } }",
      { input: { triggerId: hook.id } },
    );
    const { replayFiring } = await server.data(replay, { input: { firingId: fireTrigger.id } });
    expect(replayFiring).toEqual({ outcome: "started", payload: null });
  });
});

test("firingsChanged tells of firings as they happen, of what was asked for", async () => {
  const [one, other] = [
    await webhookOf(server, echo, { name: "watched" }),
    await webhookOf(server, three, { name: "not watched" }),
  ];
  const client = server.webSocket();
  const heard: Data[] = [];
  const watch = (which: string, of = ""): void =>
    void client.subscribe(
      { query: `subscription { firingsChanged${of} { outcome trigger { name } payload } }` },
      {
        next: ({ data }) => heard.push({ which, ...(data as Data).firingsChanged }),
        error: () => {},
        complete: () => {},
      },
    );
  watch("all");
  watch("trigger", `(triggerId: "${one.id}")`);
  watch("agent", `(agentId: "${three}")`);
  const told = (by: string): string[] =>
    [
      ...new Set(heard.filter(({ which }) => which === by).map(({ trigger, outcome }) => `${trigger.name} ${outcome}`)),
    ].toSorted();
  await eventually(async () => {
    await call(one.url, { a: 1 });
    await call(other.url, { n: "wrong" });
    return told("all").length > 1 && told("trigger").length > 0 && told("agent").length > 0;
  });
  expect(told("all")).toEqual(["not watched refused", "watched started"]);
  expect(told("trigger")).toEqual(["watched started"]);
  expect(told("agent")).toEqual(["not watched refused"]);
  await client.dispose();
});
