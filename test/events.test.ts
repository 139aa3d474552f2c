/** Events over the wire: published, matched, and what came of each. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { createKey } from "./narrowed-keys.ts";
import { eventTriggerOf, firingsOfEvent, publishEvent, type Published } from "./published-events.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";
import { call, firingsOf, webhookOf } from "./webhooks.ts";

let server: MovedServer;
let echo: string;
let three: string;
beforeAll(async () => {
  server = await movedServer();
  echo = await publish(server, "echo");
  three = await publish(server, "three");
});
afterAll(() => server[Symbol.asyncDispose]());

let last = 0;
/** A source that no other test has. */
const newSource = (): string => `source ${++last}`;
const refusalOf = async (input: object, token?: string): Promise<Data> => {
  const { errors } = await publishEvent(server, input, token);
  return { message: errors?.[0]?.message, ...errors?.[0]?.extensions };
};
const send = async (source: string, data: unknown = {}, more: object = {}): Promise<Published> =>
  (await publishEvent(server, { source, event: "paid", id: `id ${++last}`, data, ...more })).data.publishEvent;

describe("an event", () => {
  test("starts a run of each trigger that it matches, and says so", async () => {
    const source = newSource();
    const one = await eventTriggerOf(server, three, { source, event: "paid" });
    const two = await eventTriggerOf(server, echo, { source, event: "paid", filter: { kind: ["a", "b"] } });
    await eventTriggerOf(server, echo, { source, event: "sent" });
    await eventTriggerOf(server, echo, { source, event: "paid", filter: { kind: ["c"] } });
    const data = { n: 1, kind: "b", more: { ignored: [true] } };
    const time = "2026-11-20T10:00:00.000Z";
    const { data: answered } = await publishEvent(server, { source, event: "paid", id: "order 1", time, data });
    const { id } = answered.publishEvent;
    expect(answered.publishEvent).toMatchObject({ id: expect.stringMatching(/^event_/), sourceId: "order 1", time });
    // They are there with the answer.
    const firings = await firingsOfEvent(server, id);
    expect(firings.map(({ outcome, trigger }) => `${outcome} ${trigger.id}`).toSorted()).toEqual(
      [one, two].map((trigger) => `started ${trigger.id}`).toSorted(),
    );
    const ofOne = firings.find(({ trigger }) => trigger.id === one.id)!;
    expect(ofOne).toMatchObject({ payload: data, delivery: "order 1", event: { id } });
    const run = await eventually(async () => {
      const { run: found } = await server.data(
        `{ run(id: "${ofOne.run.id}") { status input output trigger { id } firing { id } } }`,
      );
      return found.status === "completed" ? found : undefined;
    });
    expect(run).toMatchObject({ input: { n: 1 }, output: { n: 4 }, trigger: { id: one.id }, firing: { id: ofOne.id } });
    const { event, node, events } = await server.data(
      `{ event(id: "${id}") { source event data at publishedBy { kind } } node(id: "${id}") { ... on Event { sourceId } } events(first: 1) { nodes { id } } }`,
    );
    expect(event).toEqual({ source, event: "paid", data, at: expect.any(String), publishedBy: { kind: "key" } });
    expect({ node, events }).toEqual({ node: { sourceId: "order 1" }, events: { nodes: [{ id }] } });
  });

  test("that comes again answers the first one and starts nothing, for 30 days", async () => {
    const source = newSource();
    const trigger = await eventTriggerOf(server, echo, { source, event: "paid" });
    const again = (more: object = {}) =>
      publishEvent(server, { source, event: "paid", id: "same", data: { a: 1, b: 2 }, ...more });
    const many = await Promise.all(Array.from({ length: 20 }, () => again()));
    expect(new Set(many.map(({ data }) => data.publishEvent.id)).size).toBe(1);
    // The order of keys does not make another body.
    expect((await again({ data: { b: 2, a: 1 } })).data.publishEvent.id).toBe(many[0]!.data.publishEvent.id);
    for (const other of [{ data: { a: 1 } }, { event: "sent" }, { time: "2026-11-20T10:00:00Z" }])
      expect(await refusalOf({ source, event: "paid", id: "same", data: { a: 1, b: 2 }, ...other })).toMatchObject({
        code: "CONFLICT",
        reason: "key_reused",
      });
    expect((await firingsOf(server, trigger)).map(({ outcome }) => outcome)).toEqual(["started"]);
    await server.clock.advance(30 * 86_400_000);
    expect((await again({ data: {} })).data.publishEvent.id).not.toBe(many[0]!.data.publishEvent.id);
    const { runs } = await server.data(
      `{ runs(filter: {startedBy: {kind: [trigger], id: ["${trigger.id}"]}}) { nodes { id } } }`,
    );
    expect(runs.nodes).toHaveLength(2);
  });

  test("leaves a refused firing where the run is refused, and the others start", async () => {
    const source = newSource();
    const refused = await eventTriggerOf(server, three, { source, event: "paid" });
    const started = await eventTriggerOf(server, echo, { source, event: "paid" });
    await send(source, { n: "one" });
    expect(await firingsOf(server, refused)).toMatchObject([
      { outcome: "refused", code: "BAD_USER_INPUT", fields: [{ path: "input.n" }], run: null },
    ]);
    expect(await firingsOf(server, started)).toMatchObject([{ outcome: "started" }]);
  });

  test("fires no paused trigger, none that was deleted, and one that was changed as it is now", async () => {
    const source = newSource();
    const trigger = await eventTriggerOf(server, echo, { source, event: "paid" });
    const change = (field: string, type: string, input: object) =>
      server.data(`mutation($input: ${type}!) { ${field}(input: $input) { id } }`, {
        input: { triggerId: trigger.id, ...input },
      });
    const fires = async (data: object = {}): Promise<number> => {
      const { id } = await send(source, data);
      return (await firingsOfEvent(server, id)).length;
    };
    expect(await fires()).toBe(1);
    await change("setTriggerStatus", "SetTriggerStatusInput", { status: "paused" });
    expect(await fires()).toBe(0);
    await change("setTriggerStatus", "SetTriggerStatusInput", { status: "active" });
    await change("updateTrigger", "UpdateTriggerInput", {
      trigger: { type: "event", source, event: "paid", filter: { n: [1] } },
    });
    expect([await fires(), await fires({ n: 1 })]).toEqual([0, 1]);
    await change("deleteTrigger", "DeleteTriggerInput", {});
    expect(await fires({ n: 1 })).toBe(0);
  });

  const good = { source: "shop", event: "paid", id: "1" };
  test.each<[string, object, object]>([
    ["an empty source", { source: " " }, { path: "input.source", code: "required" }],
    ["an event of 256 characters", { event: "x".repeat(256) }, { path: "input.event", code: "too_long" }],
    ["an id of two lines", { id: "a\nb" }, { path: "input.id", code: "invalid" }],
    ["the service's own source", { source: "autograph" }, { path: "input.source", code: "not_a_choice" }],
    ["data that is a list", { data: [] }, { path: "input.data", code: "wrong_type" }],
    ["data that is a text", { data: "a" }, { path: "input.data", code: "wrong_type" }],
  ])("is refused with %s", async (_, wrong, field) => {
    expect(await refusalOf({ ...good, ...wrong })).toMatchObject({
      code: "BAD_USER_INPUT",
      fields: [expect.objectContaining(field)],
    });
  });

  test("a name has 255 characters and not one more", async () => {
    const name = "x".repeat(255);
    expect((await publishEvent(server, { source: name, event: name, id: name })).errors).toBeUndefined();
    expect(await refusalOf({ ...good, source: `${name}x` })).toMatchObject({ message: expect.stringContaining("255") });
  });

  test("its data has 65536 bytes as JSON and not one more", async () => {
    const sized = (bytes: number) => ({ a: "ä".repeat((bytes - '{"a":""}'.length) / 2) });
    expect((await publishEvent(server, { ...good, id: "large", data: sized(65_536) })).errors).toBeUndefined();
    expect(await refusalOf({ ...good, id: "larger", data: { a: `${sized(65_536).a}x` } })).toMatchObject({
      fields: [{ path: "input.data", code: "too_large", message: expect.stringContaining("65536") }],
    });
  });
});

describe("a mapping", () => {
  const inputOf = async (mapping: string, data: object, agent = echo): Promise<Data> => {
    const source = newSource();
    await eventTriggerOf(server, agent, { source, event: "paid" }, { policy: { mapping } });
    const { id } = await send(source, data);
    // On a busy machine the mapping may need more time than its publisher waits.
    const [firing] = await eventually(async () => {
      const firings = await firingsOfEvent(server, id);
      return firings.length > 0 ? firings : undefined;
    });
    return { ...firing, source };
  };
  test.each<[string, string, object, object]>([
    ["in this process", "{n: (.a + .b), more: .c.d}", { a: 1, b: 2, c: { d: [3] } }, { n: 3, more: [3] }],
    ["by jq", '{words: [.text | splits(" +")]}', { text: "a  b" }, { words: ["a", "b"] }],
    ["within ${ }", "${ .inner }", { inner: { a: 1 } }, { a: 1 }],
    ["of 400 kB", "{many: [range(100000)]}", {}, { many: expect.objectContaining({ length: 100_000 }) }],
  ])("makes the input %s, and the firing shows what came", async (_, mapping, data, input) => {
    expect(await inputOf(mapping, data)).toMatchObject({ outcome: "started", payload: data, run: { input } });
  });

  test("drops what the form does not know, and knows the event, also when it is fired again", async () => {
    const { id, source, payload, run, event } = await inputOf("{n: .a, at: $event.at} + $event", { a: 1 });
    expect(run).toBeTruthy();
    expect(run.input).toEqual({
      n: 1,
      at: expect.any(String),
      id: event.id,
      source,
      event: "paid",
      sourceId: `id ${last}`,
      time: expect.any(String),
    });
    const { replayFiring: again } = await server.data(
      `mutation { replayFiring(input: {firingId: "${id}"}) { outcome payload event { id } run { input } } }`,
    );
    expect(again).toEqual({ outcome: "started", payload, event, run: { input: run.input } });
    const dropped = await inputOf("{n: .a, other: 1}", { a: 1 }, three);
    expect(dropped.run.input).toEqual({ n: 1 });
  });

  test.each<[string, string, string]>([
    ["gives a list", "[.a]", "must return an object, but returned a list"],
    ["gives nothing", "empty", "must return an object, but returned null"],
    ["fails", ".a.b.c", "failed: Cannot index number"],
    ["takes too long", "until(false; . )", "failed: takes longer than 2000 ms"],
    ["needs too much", "{a: [range(1e9)]}", "failed: "],
    ["gives too much", "{a: [range(2e5)] | tojson}", "failed: the result"],
  ])("that %s refuses the firing", async (_, mapping, message) => {
    expect(await inputOf(mapping, { a: 1 })).toMatchObject({
      outcome: "refused",
      code: "BAD_USER_INPUT",
      message: expect.stringContaining(`the trigger's mapping ${message}`),
      run: null,
    });
  });

  test.each<[string, string, string]>([
    ["is empty", "${ }", "it is empty"],
    ["is no expression", "{a: ", "does not compile"],
    ["calls what jq does not know", "{a: nothing(.)}", "does not compile"],
    ["refers to what is not there", "{a: $secrets.x}", "$secrets can stand only in the endpoint"],
    ["refers to another name", "{a: $evnt.id}", "$evnt is not known"],
    ["has NUL in a text", '{a: "\0"}', "must not contain NUL or lone surrogates"],
    ["has a lone surrogate in a comment", ". # \ud800", "must not contain NUL or lone surrogates"],
  ])("that %s is refused with its trigger, alone and in a definition", async (_, mapping, message) => {
    const trigger = { type: "event", source: "mapped", event: "e" };
    const fields = [{ path: "input.policy.mapping", code: "invalid", message: expect.stringContaining(message) }];
    const ask = async (field: string, type: string, input: object): Promise<Data> =>
      (await server.graphql(`mutation($input: ${type}!) { ${field}(input: $input) { id } }`, { input })).errors?.[0];
    const policy = { mapping };
    expect(
      (await ask("createTrigger", "CreateTriggerInput", { agentId: echo, name: newSource(), trigger, policy }))!
        .extensions.fields,
    ).toMatchObject(fields);
    const { id: triggerId } = await eventTriggerOf(server, echo, { source: newSource(), event: "e" });
    expect((await ask("updateTrigger", "UpdateTriggerInput", { triggerId, policy }))!.extensions.fields).toMatchObject(
      fields,
    );
    const definition = JSON.stringify({
      document: {
        dsl: "1.0.3",
        namespace: "test",
        name: "mapped",
        version: "1.0.0",
        metadata: { triggers: [{ name: "x", trigger, policy }] },
      },
      do: [{ a: { set: { b: 1 } } }],
    });
    const { validateDefinition } = await server.data(
      "query($definition: String!) { validateDefinition(definition: $definition) { problems { path message } } }",
      { definition },
    );
    expect(validateDefinition.problems).toMatchObject([
      { path: "/document/metadata/triggers/0/policy/mapping", message: expect.stringContaining(message) },
    ]);
  });

  test("of a webhook maps its body, and tells its sender what is wrong with it, not how it is mapped", async () => {
    const hook = await webhookOf(server, three, { name: "mapped", policy: { mapping: "{n: (.order.total * 2)}" } });
    expect((await call(`${hook.url}?wait=20`, { order: { total: 4 } })).body.output).toEqual({ n: 11 });
    const { status, errors } = await call(hook.url, { order: "none" });
    expect(status).toBe(422);
    expect(errors).toMatchObject([{ extensions: { fields: [{ path: "policy.mapping" }] } }]);
    expect(errors![0]!.message).not.toContain("total * 2");
    expect((await firingsOf(server, hook)).map(({ outcome, payload }) => [outcome, payload])).toEqual([
      ["refused", { order: "none" }],
      ["started", { order: { total: 4 } }],
    ]);
  });
});

describe("a filter", () => {
  test.each<[string, object, object, boolean]>([
    ["a text of the list", { s: ["a", "b"] }, { s: "b" }, true],
    ["another text", { s: ["a"] }, { s: "A" }, false],
    ["a number as a text", { n: ["1"] }, { n: 1 }, false],
    ["the same number in other digits", { n: [1] }, { n: 1.0 }, true],
    ["true and not 1", { b: [true] }, { b: 1 }, false],
    ["null", { x: [null] }, { x: null }, true],
    ["null where nothing is", { x: [null] }, {}, false],
    ["a field on a path", { "a.b": [1] }, { a: { b: 1 } }, true],
    ["the exact key before the path", { "a.b": [1] }, { "a.b": 2, a: { b: 1 } }, false],
    ["a path into a text", { "a.length": [1] }, { a: "x" }, false],
    ["what every object has", { "a.constructor": [null] }, { a: {} }, false],
    ["any element of a list", { tags: ["b"] }, { tags: ["a", "b"] }, true],
    ["no element of a list", { tags: ["c"] }, { tags: ["a", ["c"]] }, false],
    ["an empty list", { tags: ["c"] }, { tags: [] }, false],
    ["an object", { o: ["[object Object]"] }, { o: {} }, false],
    ["all fields", { a: [1], b: [2] }, { a: 1, b: 2 }, true],
    ["one field of two", { a: [1], b: [2] }, { a: 1, b: 3 }, false],
  ])("with %s", async (_, filter, data, isMatch) => {
    const source = newSource();
    await eventTriggerOf(server, echo, { source, event: "paid", filter });
    expect((await firingsOfEvent(server, (await send(source, data)).id)).length).toBe(isMatch ? 1 : 0);
  });

  const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, [1]]));
  const values = (count: number) => ({ f: Array.from({ length: count }, (_, index) => index) });
  const wrongs = (count: number) => ({ f: Array.from({ length: count }, () => ({})) });
  const sized = (bytes: number) => ({ f: ["x".repeat(bytes - '{"f":[""]}'.length)] });
  test.each<[string, unknown, { path: string; code: string; message?: unknown } | undefined]>([
    ["a list", [], { path: "filter", code: "wrong_type" }],
    ["a text", "a", { path: "filter", code: "wrong_type" }],
    ["a value without a list", { a: 1 }, { path: "filter.a", code: "wrong_type" }],
    ["no value", { a: [] }, { path: "filter.a", code: "too_few" }],
    ["an object as a value", { a: [1, {}] }, { path: "filter.a.1", code: "wrong_type" }],
    ["a list as a value", { a: [[1]] }, { path: "filter.a.0", code: "wrong_type" }],
    ["NUL in a value", { a: ["\0"] }, { path: "filter.a.0", code: "invalid" }],
    ["an empty field", { "": [1] }, { path: "filter.", code: "invalid" }],
    ["20 fields", fields(20), undefined],
    ["21 fields", fields(21), { path: "filter", code: "too_many", message: expect.stringContaining("20") }],
    ["100 values", values(100), undefined],
    ["101 values", values(101), { path: "filter.f", code: "too_many", message: expect.stringContaining("100") }],
    ["4096 bytes", sized(4_096), undefined],
    ["4097 bytes", sized(4_097), { path: "filter", code: "too_large", message: expect.stringContaining("4096") }],
    ["6 kB of what is no value", wrongs(2_000), { path: "filter", code: "too_large" }],
  ])("that is or has %s", async (_, filter, wrong) => {
    const { errors } = await server.graphql(
      "mutation($input: CreateTriggerInput!) { createTrigger(input: $input) { id } }",
      { input: { agentId: echo, name: newSource(), trigger: { type: "event", source: "s", event: "e", filter } } },
    );
    expect(errors?.[0]?.extensions.fields?.[0]).toEqual(
      wrong && { message: expect.any(String), ...wrong, path: `input.trigger.${wrong.path}` },
    );
  });

  test("is shown with the trigger as the specification has it", async () => {
    const trigger = { type: "event", source: "shop", event: "paid", filter: { status: ["new", "open"] } };
    const { createTrigger } = await server.data(
      "mutation($input: CreateTriggerInput!) { createTrigger(input: $input) { configuration source event filter url } }",
      { input: { agentId: echo, name: "shown", trigger } },
    );
    const { type: _type, ...keys } = trigger;
    expect(createTrigger).toEqual({ configuration: { trigger }, ...keys, url: null });
    const { errors } = await server.graphql(
      "mutation($input: CreateTriggerInput!) { createTrigger(input: $input) { id } }",
      { input: { agentId: echo, name: "none", trigger: { type: "event", event: "paid", method: "POST" } } },
    );
    expect(errors![0]!.extensions.fields).toMatchObject([
      { path: "input.trigger.method", code: "unknown", message: expect.stringContaining("webhook") },
      { path: "input.trigger.source", code: "required" },
    ]);
  });
});

describe("events", () => {
  const list = async (filter: object, token?: string, more: object = {}): Promise<Data> =>
    server.graphql(
      "query($filter: EventFilter, $first: Int, $after: String) { events(filter: $filter, first: $first, after: $after) { nodes { sourceId } pageInfo { endCursor } } }",
      { filter, ...more },
      token,
    );
  const idsOf = ({ data }: Data): string[] => data.events.nodes.map(({ sourceId }: Data) => sourceId);

  test("are listed by source and name, in pages, also for a narrowed key", async () => {
    const source = newSource();
    const { secret } = await createKey(server, { projectIds: [server.world.projectId] });
    for (const [id, event, token] of [
      ["1", "paid", undefined],
      ["2", "sent", secret],
      ["3", "paid", secret],
      ["4", "paid", secret],
    ] as const)
      await publishEvent(server, { source, event, id }, token);
    expect(idsOf(await list({ source }))).toEqual(["4", "3", "2", "1"]);
    expect(idsOf(await list({ source, event: "paid" }))).toEqual(["4", "3", "1"]);
    expect(idsOf(await list({ source }, secret))).toEqual(["4", "3", "2"]);
    const another = newSource();
    await publishEvent(server, { source: another, event: "sent", id: "5" });
    expect(idsOf(await list({ source: [source, "nowhere", another] }))).toEqual(["5", "4", "3", "2", "1"]);
    expect(idsOf(await list({ source: [source, another], event: ["sent", "lost"] }))).toEqual(["5", "2"]);
    expect(idsOf(await list({ source: [source, another], event: ["sent"] }, secret))).toEqual(["2"]);
    expect(idsOf(await list({ source: [] }))).toEqual([]);
    expect(idsOf(await list({ source: [source], event: [] }))).toEqual([]);
    const page = await list({ source, event: "paid" }, secret, { first: 1 });
    expect(idsOf(page)).toEqual(["4"]);
    const { endCursor } = page["data"].events.pageInfo;
    expect(idsOf(await list({ source, event: "paid" }, secret, { first: 5, after: endCursor }))).toEqual(["3"]);
    expect(idsOf(await list({ source: "nowhere" }))).toEqual([]);
  });

  test.each<[string, object, object]>([
    ["a name without a source", { event: "paid" }, { path: "filter.source", code: "required" }],
    ["an empty source", { source: "" }, { path: "filter.source", code: "required" }],
    ["a long name", { source: "a", event: ["b", "x".repeat(256)] }, { path: "filter.event", code: "too_long" }],
    [
      "102 pairs",
      { source: ["a", "b"], event: Array.from({ length: 51 }, (_, number) => `n${number}`) },
      { path: "filter.event", code: "too_many" },
    ],
  ])("are refused with %s", async (_, filter, field) => {
    expect((await list(filter))["errors"][0].extensions).toMatchObject({ code: "BAD_USER_INPUT", fields: [field] });
  });
});

describe("an event says", () => {
  test("what it matches, and why not the others, as they are now", async () => {
    const source = newSource();
    const of = (more: object = {}) => eventTriggerOf(server, echo, { source, event: "paid", ...more });
    const matched = await of({ filter: { n: [1] } });
    const other = await of({ event: "sent" });
    const filtered = await of({ filter: { n: [2] } });
    const missing = await of({ filter: { "a.b": [2] } });
    const paused = await of();
    await server.data("mutation($input: SetTriggerStatusInput!) { setTriggerStatus(input: $input) { id } }", {
      input: { triggerId: paused.id, status: "paused" },
    });
    const { id } = await send(source, { n: 1 });
    await server.clock.advance(10);
    const later = await of();
    const query = `{ event(id: "${id}") { matches { id } misses { trigger { id } reason } } }`;
    const { event } = await server.data(query);
    expect(event.matches).toEqual([{ id: matched.id }]);
    expect(event.misses).toEqual([
      { trigger: { id: later.id }, reason: "it was created after the event" },
      { trigger: { id: paused.id }, reason: "it is paused" },
      { trigger: { id: missing.id }, reason: "its filter wants a.b, which the data does not have" },
      { trigger: { id: filtered.id }, reason: "its filter does not accept the value of n" },
      { trigger: { id: other.id }, reason: "it fires on the event sent" },
    ]);
  });

  test("that it is there, to who watches", async () => {
    const source = newSource();
    const watching = server.watch(`subscription { eventsChanged(source: "${source}") { source sourceId data } }`);
    const first = watching.next();
    // Until it has subscribed.
    const timer = setInterval(() => void Promise.all([send(source, { a: 1 }), send("another source")]), 50);
    expect((await first).value).toEqual({
      data: { eventsChanged: { source, sourceId: expect.any(String), data: { a: 1 } } },
    });
    clearInterval(timer);
    await watching.return?.();
  });
});

test("after kill -9 answered events are kept, interrupted ones fire once, and repeats do nothing", async () => {
  const source = newSource();
  const trigger = await eventTriggerOf(server, echo, { source, event: "paid" });
  const one = (index: number) => publishEvent(server, { source, event: "paid", id: `e${index}`, data: { index } });
  const answered: string[] = [];
  for (let index = 0; index < 20; index++) answered.push((await one(index)).data.publishEvent.id);
  const torn = Promise.allSettled(Array.from({ length: 50 }, (_, index) => one(100 + index)));
  await eventually(async () => ((await firingsOf(server, trigger)).length > 25 ? true : undefined));
  await server.kill();
  await torn;
  await server.restart();
  for (let index = 0; index < 20; index++) expect((await one(index)).data.publishEvent.id).toBe(answered[index]);
  await Promise.all(Array.from({ length: 50 }, (_, index) => one(100 + index)));
  const firings = await eventually(async () => {
    const all = await firingsOf(server, trigger);
    return all.length >= 70 ? all : undefined;
  });
  expect(firings.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 70 }, () => "started"));
  expect(new Set(firings.map(({ delivery }) => delivery)).size).toBe(70);
});
