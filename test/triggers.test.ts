/** Triggers over the wire: made, changed, called, and what came of each call. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectInTime } from "./in-time.ts";
import { encodeId, newId } from "../server/src/lib/ids.ts";
import { publish } from "./agents.ts";
import { ON_OPERATORS, eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { call, CREATE, firingsOf, webhookOf, type Called } from "./webhooks.ts";

let server: TestServer;
let echo: string;
let three: string;
beforeAll(async () => {
  server = await startTestServer();
  echo = await publish(server, "echo");
  three = await publish(server, "three");
});
afterAll(() => server[Symbol.asyncDispose]());

const run = async (id: string): Promise<Data> =>
  eventually(async () => {
    const data = await server.data(
      `{ run(id: "${id}") { status input output startedBy { kind id name } trigger { id name } firing { id outcome payload } } }`,
    );
    return data.run.status === "completed" ? data.run : undefined;
  });
const refusalOf = async (input: object): Promise<Data> => {
  const { errors } = await server.graphql(CREATE, { input: { agentId: echo, name: "x", ...input } });
  return { message: errors?.[0]?.message, ...errors?.[0]?.extensions };
};
const setStatus = (triggerId: string, status: string) =>
  server.data("mutation($input: SetTriggerStatusInput!) { setTriggerStatus(input: $input) { status } }", {
    input: { triggerId, status },
  });
const setAgent = (agentId: string, status: string) =>
  server.data("mutation($input: SetAgentStatusInput!) { setAgentStatus(input: $input) { status } }", {
    input: { agentId, status },
  });

describe("a trigger", () => {
  test("is made, shown as the specification has it, found, changed and deleted", async () => {
    const { createTrigger: made } = await server.data(CREATE, {
      input: {
        agentId: echo,
        name: "  orders ",
        trigger: { type: "webhook", method: "POST", authentication: { type: "bearer_token" } },
        policy: { deliveryHeader: "X-Order" },
      },
    });
    const url = new RegExp(`^${server.url.replace("/graphql", "")}/webhook/${echo}/[\\w-]{43}$`);
    expect(made).toEqual({
      id: expect.stringMatching(/^trigger_[0-9a-z]{26}$/),
      name: "orders",
      url: expect.stringMatching(url),
      curl: `curl -X POST '${made.url}' -H 'Content-Type: application/json' -d '{}'`,
      configuration: {
        trigger: { type: "webhook", url: made.url, method: "POST", authentication: { type: "bearer_token" } },
      },
      policy: { deliveryHeader: "x-order" },
    });
    const shown = await server.data(
      `{ trigger(id: "${made.id}") { type status method authentication nextDueAt url agent { id triggers { nodes { id } } } project { id } createdBy { kind } }
         node(id: "${made.id}") { ... on Trigger { name } } triggers(filter: {agentId: ["${echo}"], type: [webhook], status: [active]}) { nodes { id } } }`,
    );
    expect(shown).toEqual({
      trigger: {
        type: "webhook",
        status: "active",
        method: "POST",
        authentication: { type: "bearer_token" },
        nextDueAt: null,
        url: made.url,
        agent: { id: echo, triggers: { nodes: [{ id: made.id }] } },
        project: { id: server.world.projectId },
        createdBy: { kind: "key" },
      },
      node: { name: "orders" },
      triggers: { nodes: [{ id: made.id }] },
    });
    const update =
      "mutation($input: UpdateTriggerInput!) { updateTrigger(input: $input) { name url policy { deliveryHeader } } }";
    expect(await server.data(update, { input: { triggerId: made.id, name: "others" } })).toEqual({
      updateTrigger: { name: "others", url: made.url, policy: { deliveryHeader: "x-order" } },
    });
    expect(await server.data(update, { input: { triggerId: made.id, policy: {} } })).toEqual({
      updateTrigger: { name: "others", url: made.url, policy: { deliveryHeader: null } },
    });
    const { body } = await call(made.url, { a: 1 });
    await server.data("mutation($input: DeleteTriggerInput!) { deleteTrigger(input: $input) { id } }", {
      input: { triggerId: made.id },
    });
    expect((await server.graphql(`{ trigger(id: "${made.id}") { id } }`)).errors).toMatchObject([
      { message: "Trigger not found", extensions: { code: "NOT_FOUND" } },
    ]);
    expect((await call(made.url)).status).toBe(404);
    // Its name stays with what it started.
    expect(await run(body.runId)).toMatchObject({
      startedBy: { kind: "trigger", id: made.id, name: "others" },
      trigger: null,
      firing: { outcome: "started" },
    });
    const again = await webhookOf(server, echo, { name: "others" });
    expect(again.url).not.toBe(made.url);
  });

  test("shows its token to who may change it, and to nobody else", async () => {
    const hook = await webhookOf(server, echo, { name: "masked" });
    const query = `{ trigger(id: "${hook.id}") { url curl configuration } }`;
    const reader = await server.key(["agents:read"]);
    const text = JSON.stringify(await server.data(query, {}, reader));
    expect(text).not.toContain(hook.url.split("/").at(-1));
    expect(text).toContain(`/webhook/${echo}/********`);
    expect((await server.data(query, {}, await server.key(["agents:read", "triggers:write"]))).trigger.url).toBe(
      hook.url,
    );
    expect(server.log()).not.toContain(hook.url.split("/").at(-1));
  });

  test("is recorded in the audit: made, changed, paused and deleted, and never its token", async () => {
    const hook = await webhookOf(server, echo, { name: "audited" });
    const change = (field: string, type: string, input: object) =>
      server.data(`mutation($input: ${type}!) { ${field}(input: $input) { id } }`, {
        input: { triggerId: hook.id, ...input },
      });
    await change("updateTrigger", "UpdateTriggerInput", { name: "renamed" });
    await setStatus(hook.id, "paused");
    await setStatus(hook.id, "paused");
    await change("deleteTrigger", "DeleteTriggerInput", {});
    const { auditEvents } = await server.data(
      "{ auditEvents(first: 4) { nodes { action subject { kind id name } detail } } }",
    );
    const subject = (name: string) => ({ kind: "trigger", id: hook.id, name });
    expect(auditEvents.nodes.toReversed()).toEqual([
      { action: "trigger_created", subject: subject("audited"), detail: { agentId: echo, type: "webhook" } },
      { action: "trigger_updated", subject: subject("renamed"), detail: {} },
      { action: "trigger_status_set", subject: subject("renamed"), detail: { from: "active", to: "paused" } },
      { action: "trigger_deleted", subject: subject("renamed"), detail: {} },
    ]);
    expect(JSON.stringify(auditEvents)).not.toContain(hook.url.split("/").at(-1));
  });

  test.each<[string, object, object]>([
    ["an empty name", { name: " ", trigger: { type: "webhook" } }, { path: "input.name", code: "required" }],
    [
      "another method",
      { trigger: { type: "webhook", method: "PUT" } },
      { path: "input.trigger.method", code: "not_a_choice", message: "must be POST" },
    ],
    [
      "another authentication",
      { trigger: { type: "webhook", authentication: { type: "basic" } } },
      { path: "input.trigger.authentication.type", code: "not_a_choice", message: "must be bearer_token" },
    ],
    [
      "an authentication that is no object",
      { trigger: { type: "webhook", authentication: "bearer_token" } },
      { path: "input.trigger.authentication.type", code: "not_a_choice" },
    ],
    [
      "more in its authentication",
      { trigger: { type: "webhook", authentication: { type: "bearer_token", token: "mine" } } },
      { path: "input.trigger.authentication.token", code: "unknown" },
    ],
    [
      "a header that is none",
      { trigger: { type: "webhook" }, policy: { deliveryHeader: "X Order" } },
      { path: "input.policy.deliveryHeader", code: "invalid" },
    ],
  ])("is refused with %s", async (_, input, field) => {
    expect(await refusalOf(input)).toMatchObject({
      code: "BAD_USER_INPUT",
      reason: "invalid_input",
      fields: [expect.objectContaining(field)],
    });
  });

  test("has a name of its own among its agent's, and no archived agent", async () => {
    await webhookOf(server, three, { name: "twice" });
    const input = { agentId: three, name: "twice", trigger: { type: "webhook" } };
    expect(await refusalOf(input)).toMatchObject({ code: "CONFLICT", reason: "name_taken" });
    await webhookOf(server, echo, { name: "twice" });
    const { id } = await webhookOf(server, three, { name: "other" });
    const update = "mutation($input: UpdateTriggerInput!) { updateTrigger(input: $input) { id } }";
    const { errors } = await server.graphql(update, { input: { triggerId: id, name: "twice" } });
    expect(errors).toMatchObject([{ extensions: { code: "CONFLICT", reason: "name_taken" } }]);
    const archived = await publish(server, "patient");
    await setAgent(archived, "archived");
    expect(await refusalOf({ agentId: archived, trigger: { type: "webhook" } })).toMatchObject({
      code: "CONFLICT",
      reason: "wrong_state",
    });
  });
});

describe("a call", () => {
  test("starts a run with the body as its input, and leaves a firing", async () => {
    const hook = await webhookOf(server, three, { name: "numbers" });
    const sent = { n: 1, more: { ignored: [true] } };
    const { status, body } = await call(hook.url, sent);
    expect({ status, body }).toEqual({
      status: 202,
      body: { runId: expect.stringMatching(/^run_/), status: expect.stringMatching(/^(pending|running)$/) },
    });
    const [firing] = await firingsOf(server, hook);
    expect(firing).toMatchObject({
      outcome: "started",
      dueAt: null,
      code: null,
      payload: sent,
      delivery: null,
      firedBy: null,
      run: { id: body.runId },
    });
    expect(await run(body.runId)).toEqual({
      status: "completed",
      input: { n: 1 },
      output: { n: 4 },
      startedBy: { kind: "trigger", id: hook.id, name: "numbers" },
      trigger: { id: hook.id, name: "numbers" },
      firing: { id: firing.id, outcome: "started", payload: sent },
    });
    const filter = `{ runs(filter: {startedBy: {kind: [trigger], id: ["${hook.id}"]}}) { nodes { id } } }`;
    expect((await server.data(filter)).runs.nodes).toEqual([{ id: body.runId }]);
  });

  test("with 500 wrong tokens a second start nothing, and a good one is answered meanwhile", async () => {
    const hook = await webhookOf(server, echo, { name: "flooded" });
    const base = hook.url.slice(0, hook.url.lastIndexOf("/"));
    const wrong = (): Promise<number> =>
      call(`${base}/${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")}`).then(
        ({ status }) => status,
      );
    const statuses: number[] = [];
    let longest = 0;
    for (let tick = 0; tick < 20; tick++) {
      const flood = Array.from({ length: 50 }, wrong);
      const asked = performance.now();
      expect((await call(hook.url)).status).toBe(202);
      longest = Math.max(longest, performance.now() - asked);
      statuses.push(...(await Promise.all(flood)));
      // The rest of a tenth of a second.
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, 100 - (performance.now() - asked))));
    }
    expect(new Set(statuses)).toEqual(new Set([404]));
    expect((await firingsOf(server, hook)).map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 20 }, () => "started"),
    );
    expectInTime(longest, 2_500);
  });

  test("to an unknown webhook is the same 404, whatever is wrong", async () => {
    const hook = await webhookOf(server, echo, { name: "there" });
    const token = hook.url.split("/").at(-1)!;
    const at = (agent: string, secret: string): string => hook.url.replace(echo, agent).replace(token, secret);
    const wrong: [string, Record<string, string>?][] = [
      [at(three, token)],
      [at(encodeId("agent", newId()), token)],
      [at("agent_x", token)],
      [at(echo, token.slice(1))],
      [at(echo, `${token.slice(1)}A`)],
      [at(echo, token.toLowerCase())],
      [`${hook.url}/more`],
      [at(echo, "")],
      [hook.url, { authorization: "Bearer other" }],
      [hook.url, { authorization: `Basic ${token}` }],
      [hook.url, { authorization: `Bearer ${server.world.apiKey}` }],
    ];
    const answers = [];
    for (const [url, headers = {}] of wrong) {
      const { status, body } = await call(url, { a: 1 }, { headers });
      answers.push({ status, body });
    }
    const same = {
      status: 404,
      body: { errors: [{ message: "Webhook not found", extensions: { code: "NOT_FOUND" } }] },
    };
    expect(answers).toEqual(wrong.map(() => same));
    for (const scheme of ["Bearer", "bearer", "BEARER"])
      expect((await call(hook.url, {}, { headers: { authorization: `${scheme} ${token}` } })).status).toBe(202);
    expect(await firingsOf(server, hook)).toHaveLength(3);
  });

  test.each<[string, number, string, unknown, { headers?: Record<string, string>; method?: string }?]>([
    ["a list", 400, "BAD_REQUEST", []],
    ["a text", 400, "BAD_REQUEST", '"text"'],
    ["a number", 400, "BAD_REQUEST", "1"],
    ["null", 400, "BAD_REQUEST", "null"],
    ["nothing", 400, "BAD_REQUEST", ""],
    ["broken JSON", 400, "BAD_REQUEST", '{"a":'],
    ["a forbidden key", 400, "BAD_REQUEST", '{"__proto__": {"a": 1}}'],
    ["a field that the form refuses", 422, "BAD_USER_INPUT", { n: "one" }],
    ["a field that is missing", 422, "BAD_USER_INPUT", { other: 1 }],
    ["more than 1 MiB", 413, "REQUEST_ENTITY_TOO_LARGE", { n: 1, more: "x".repeat(1024 * 1024) }],
    ["another content type", 415, "BAD_REQUEST", { n: 1 }, { headers: { "content-type": "text/plain" } }],
    ["a compressed body", 415, "BAD_REQUEST", { n: 1 }, { headers: { "content-encoding": "gzip" } }],
  ])("with %s is %i, starts nothing, and its firing says so", async (name, status, code, body, more) => {
    const hook = await webhookOf(server, three, { name });
    const answer = await call(hook.url, body, more);
    expect(answer).toMatchObject({ status, errors: [{ extensions: { code } }] });
    const firings = await firingsOf(server, hook);
    expect(firings).toHaveLength(1);
    const [firing] = firings;
    expect(firing).toMatchObject({ outcome: "refused", run: null, code, message: answer.errors![0]!.message });
    if (status === 422) {
      expect(answer.errors![0]!.extensions["fields"]).toMatchObject([{ path: "input.n" }]);
      expect(firing).toMatchObject({ fields: [{ path: "input.n" }], payload: body });
    }
  });

  test("a firing names the first 10 of the fields that were refused, the answer all", async () => {
    const names = Array.from({ length: 11 }, (_, index) => `f${index}`);
    const form = JSON.stringify({
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, { type: "number" }])),
      required: names,
    });
    const definition = `document: {dsl: '1.0.3', namespace: test, name: eleven, version: '1.0.0'}\ninput: {schema: {document: ${form}}}\ndo: [{a: {set: {b: 1}}}]\n`;
    const { publishAgent } = await server.data(
      "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
      { input: { definition } },
    );
    const hook = await webhookOf(server, publishAgent.id);
    expect((await call(hook.url)).errors![0]!.extensions["fields"]).toHaveLength(11);
    expect((await firingsOf(server, hook))[0].fields).toHaveLength(10);
    const { f10: _missing, ...ten } = Object.fromEntries(names.map((name) => [name, 1]));
    expect((await call(hook.url, ten)).errors![0]!.extensions["fields"]).toHaveLength(1);
    expect((await firingsOf(server, hook))[0].fields).toHaveLength(1);
  });

  test("by another method is 405, and tells nothing", async () => {
    const hook = await webhookOf(server, three, { name: "by GET" });
    const answers: Called[] = [];
    for (const url of [hook.url, hook.url.slice(0, -1)]) answers.push(await call(url, {}, { method: "GET" }));
    for (const { status, headers, body } of answers)
      expect({ status, allow: headers.get("allow"), body }).toEqual({
        status: 405,
        allow: "POST",
        body: answers[0]!.body,
      });
  });

  test("a key that stands twice: the last one counts", async () => {
    const hook = await webhookOf(server, three, { name: "doubled key" });
    const { body } = await call(hook.url, '{"n": 1, "n": 5}');
    expect((await run(body.runId)).output).toEqual({ n: 8 });
  });

  test("of a paused trigger, or of a paused or archived agent, is refused visibly; by hand a paused trigger fires", async () => {
    const agent = await publish(server, "quick");
    const hook = await webhookOf(server, agent, { name: "paused" });
    const fire = async (): Promise<Data> =>
      (
        await server.data(
          "mutation($input: FireTriggerInput!) { fireTrigger(input: $input) { outcome message payload firedBy { kind } run { status } } }",
          { input: { triggerId: hook.id, payload: { by: "hand" } } },
        )
      ).fireTrigger;
    await setStatus(hook.id, "paused");
    expect(await call(hook.url, { a: 1 })).toMatchObject({
      status: 409,
      errors: [{ message: "the trigger is paused", extensions: { code: "CONFLICT", reason: "wrong_state" } }],
    });
    expect(await fire()).toMatchObject({ outcome: "started", payload: { by: "hand" }, firedBy: { kind: "key" } });
    await setStatus(hook.id, "active");
    for (const status of ["paused", "archived"]) {
      await setAgent(agent, status);
      const message = expect.stringContaining(`the agent is ${status}`);
      expect(await call(hook.url, { a: 2 })).toMatchObject({ status: 409, errors: [{ message }] });
      expect(await fire()).toMatchObject({ outcome: "refused", message, run: null });
    }
    await setAgent(agent, "active");
    expect((await call(hook.url)).status).toBe(202);
    const outcomes = (await firingsOf(server, hook)).map(({ outcome, code }) => `${outcome} ${code}`);
    expect(outcomes.toReversed()).toEqual([
      "refused CONFLICT",
      "started null",
      ...Array.from({ length: 4 }, () => "refused CONFLICT"),
      "started null",
    ]);
    expect(await firingsOf(server, hook, ["started"])).toHaveLength(2);
  });

  test("without space on the disk is 503 whatever is wrong with it, and leaves no firing", async (context) => {
    context.skip(!server.isEmbedded, ON_OPERATORS);
    const [hook, paused] = [
      await webhookOf(server, echo, { name: "full" }),
      await webhookOf(server, echo, { name: "full and paused" }),
    ] as const;
    await setStatus(paused.id, "paused");
    await server.setFreeBytes(1_000_000);
    await expect.poll(async () => (await call(hook.url)).status).toBe(503);
    expect((await call(paused.url)).status).toBe(503);
    expect((await call(hook.url, "[]")).status).toBe(503);
    await server.setFreeBytes(null);
    await expect.poll(async () => (await call(paused.url)).status).toBe(409);
    expect(await firingsOf(server, hook, ["refused"])).toEqual([]);
  });

  test("counts for the organization's plan", async () => {
    const world = await server.organization("small");
    const agent = await publish(server, "echo", world);
    const hook = await webhookOf(server, agent, {}, world.apiKey);
    await server.setPlan(world.organizationId, "free");
    await server.clock.advance(10_000);
    const statuses = [];
    for (let count = 0; count < 11; count++) statuses.push((await call(hook.url)).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 202), 429]);
    const { status, headers, errors } = await call(hook.url);
    expect(status).toBe(429);
    expect(errors).toMatchObject([{ extensions: { code: "RATE_LIMITED", retryAfter: expect.any(Number) } }]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    expect(headers.get("ratelimit-policy")).toBe('"plan";q=10;w=60');
    expect(headers.get("ratelimit")).toMatch(/^"plan";r=0;t=\d+$/);
  });
});

describe("a delivery", () => {
  const outcomesOf = async (hook: { id: string }): Promise<string[]> =>
    (await firingsOf(server, hook)).map(({ outcome }) => outcome).toReversed();

  test.each(["Idempotency-Key", "webhook-id", "X-Delivery"])(
    "named by %s starts one run in 24 hours",
    async (header) => {
      const hook = await webhookOf(server, echo, { name: header, policy: { deliveryHeader: "x-delivery" } });
      const send = (body: object = { a: 1 }): Promise<Called> => call(hook.url, body, { headers: { [header]: "one" } });
      const many = await Promise.all(Array.from({ length: 20 }, () => send()));
      expect(new Set(many.map(({ status }) => status))).toEqual(new Set([202]));
      const ids = new Set(many.map(({ body }) => body.runId));
      expect(ids.size).toBe(1);
      expect((await outcomesOf(hook)).toSorted()).toEqual([
        ...Array.from({ length: 19 }, () => "duplicate"),
        "started",
      ]);
      const [{ delivery, run: first }] = (await firingsOf(server, hook, ["duplicate"])) as [Data];
      expect({ delivery, first: first.id }).toEqual({ delivery: "one", first: [...ids][0] });
      const { run } = await server.data(`{ run(id: "${first.id}") { firing { outcome } } }`);
      expect(run.firing.outcome).toBe("started");
      expect(await send({ a: 2 })).toMatchObject({
        status: 409,
        errors: [{ extensions: { code: "CONFLICT", reason: "key_reused" } }],
      });
      // Also when its agent takes no runs now.
      await setAgent(echo, "paused");
      const repeat = await send();
      await setAgent(echo, "active");
      expect(repeat).toMatchObject({ status: 202, body: { runId: [...ids][0] } });
      await server.clock.advance(24 * 3_600_000);
      expect((await send()).body.runId).not.toBe([...ids][0]);
    },
  );

  test("is named by the first of its headers that is there", async () => {
    const hook = await webhookOf(server, echo, { name: "headers", policy: { deliveryHeader: "x-delivery" } });
    const all = { "x-delivery": "own", "idempotency-key": "key", "webhook-id": "standard" };
    await call(hook.url, {}, { headers: all });
    await call(hook.url, {}, { headers: { ...all, "x-delivery": "" } });
    expect((await firingsOf(server, hook)).map(({ delivery }) => delivery)).toEqual(["key", "own"]);
  });

  test("that was refused may come again", async () => {
    const hook = await webhookOf(server, three, { name: "again" });
    const headers = { "webhook-id": "msg_1" };
    expect((await call(hook.url, { n: "one" }, { headers })).status).toBe(422);
    expect((await call(hook.url, { n: 1 }, { headers })).status).toBe(202);
    expect(await outcomesOf(hook)).toEqual(["refused", "started"]);
  });

  test("a delivery's name has at most 255 characters", async () => {
    const hook = await webhookOf(server, echo, { name: "long" });
    const send = (length: number) => call(hook.url, {}, { headers: { "webhook-id": "x".repeat(length) } });
    expect((await send(255)).status).toBe(202);
    expect(await send(256)).toMatchObject({
      status: 422,
      errors: [
        { message: expect.stringContaining("255"), extensions: { fields: [{ path: "webhook-id", code: "too_long" }] } },
      ],
    });
  });
});

test("answered calls are kept after kill -9, and repeats do nothing", async () => {
  const hook = await webhookOf(server, echo, { name: "killed" });
  const send = (index: number): Promise<Called> =>
    call(hook.url, { index }, { headers: { "idempotency-key": `d${index}` } });
  const runs: string[] = [];
  for (let index = 0; index < 20; index++) runs.push((await send(index)).body.runId);
  const torn = Promise.allSettled(Array.from({ length: 20 }, (_, index) => send(100 + index)));
  await server.kill();
  await torn;
  await server.restart();
  for (let index = 0; index < 20; index++) expect((await send(index)).body.runId).toBe(runs[index]);
  const again = await Promise.all(Array.from({ length: 20 }, (_, index) => send(100 + index)));
  const started = await firingsOf(server, hook, ["started"]);
  expect(started).toHaveLength(40);
  expect(new Set(started.map(({ run: { id } }) => id))).toEqual(
    new Set([...runs, ...again.map(({ body }) => body.runId)]),
  );
  await Promise.all(started.map(({ run: { id } }) => run(id)));
});
