/** Events and narrowed keys: what they fire, show and take, and which triggers they make on them. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { publish } from "./agents.ts";
import { createKey } from "./narrowed-keys.ts";
import { eventTriggerOf, firingsOfEvent, publishEvent } from "./published-events.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { firingsOf } from "./webhooks.ts";

let server: SharedServer;
let echo: string;
beforeAll(async () => {
  server = await sharedServer();
  echo = await publish(server, "echo");
});
afterAll(() => server[Symbol.asyncDispose]());

test("an event of a narrowed key fires and shows no more than the key reaches", async () => {
  const source = "fired";
  const { createProject } = await server.data(
    'mutation { createProject(input: {handle: "narrow", name: "Narrow"}) { id } }',
  );
  const definition =
    "document: {dsl: '1.0.3', namespace: narrow, name: inside, version: '1.0.0'}\ndo: [{a: {set: {b: 1}}}]\n";
  const { publishAgent } = await server.data(
    "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
    { input: { definition } },
  );
  const reached = await eventTriggerOf(server, publishAgent.id, { source, event: "paid" });
  const other = await eventTriggerOf(server, echo, { source, event: "paid" });
  const { secret } = await createKey(server, { projectIds: [createProject.id] });
  const given = { source, event: "paid", id: "one" };
  const whole = (await publishEvent(server, { ...given, data: { whole: true } })).data.publishEvent;
  expect(await firingsOf(server, reached)).toHaveLength(1);
  // Its source and id are not taken by what others published, nor told.
  const narrow = (await publishEvent(server, { ...given, id: "two" }, secret)).data.publishEvent;
  const same = (await publishEvent(server, { ...given, data: { whole: false } }, secret)).data;
  expect(same.publishEvent.id).not.toBe(whole.id);
  expect((await firingsOf(server, other)).map(({ delivery }) => delivery)).toEqual(["one"]);
  expect(await firingsOfEvent(server, narrow.id)).toMatchObject([{ outcome: "started", trigger: { id: reached.id } }]);
  const seen = await server.data(`{ events { nodes { id } } }`, {}, secret);
  expect(seen.events.nodes).toEqual([{ id: same.publishEvent.id }, { id: narrow.id }]);
  const { errors } = await server.graphql(`{ event(id: "${whole.id}") { id } }`, {}, secret);
  expect(errors).toMatchObject([{ extensions: { code: "NOT_FOUND" } }]);
  // Nor does it take an id that others publish afterwards.
  const later = (await publishEvent(server, { ...given, id: "two", data: { whole: true } })).data.publishEvent;
  expect(await firingsOfEvent(server, later.id)).toMatchObject([
    { outcome: "started", trigger: { id: other.id } },
    { outcome: "started", trigger: { id: reached.id } },
  ]);
});

test("a narrowed key does not choose what fires a project's triggers", async () => {
  const agent = echo;
  const { secret } = await createKey(server, { projectIds: [server.world.projectId] });
  const shop = { type: "event", source: "chosen", event: "paid" };
  const refused = [
    {
      message: "this needs the whole organization (a trigger on events), and the API key is narrowed to a part of it",
      extensions: { code: "FORBIDDEN" },
    },
  ];
  const create = "mutation($input: CreateTriggerInput!) { createTrigger(input: $input) { id } }";
  const input = { agentId: agent, name: "shop", trigger: shop };
  expect((await server.graphql(create, { input }, secret)).errors).toMatchObject(refused);
  // One that somebody else made it changes, but not what it fires on.
  const { createTrigger: made } = await server.data(create, { input });
  const update = "mutation($input: UpdateTriggerInput!) { updateTrigger(input: $input) { id } }";
  const other = { triggerId: made.id, trigger: { ...shop, event: "sent" } };
  expect((await server.graphql(update, { input: other }, secret)).errors).toMatchObject(refused);
  await server.data(update, { input: { triggerId: made.id, name: "sales", policy: { overlap: "skip" } } }, secret);
  const publishing = "mutation($definition: String!) { publishAgent(input: {definition: $definition}) { version } }";
  const definition = (version: string, triggers: object[]): string =>
    JSON.stringify({
      document: { dsl: "1.0.3", namespace: "test", name: "chosen", version, metadata: { triggers } },
      do: [{ done: { set: { ok: true } } }],
    });
  const first = { definition: definition("1.0.0", [{ name: "shop", trigger: shop }]) };
  expect((await server.graphql(publishing, first, secret)).errors).toMatchObject(refused);
  await server.data(publishing, first);
  const kept = { definition: definition("1.1.0", [{ name: "shop", trigger: shop, policy: { overlap: "skip" } }]) };
  await server.data(publishing, kept, secret);
  const moved = { definition: definition("1.2.0", [{ name: "shop", trigger: { ...shop, event: "sent" } }]) };
  expect((await server.graphql(publishing, moved, secret)).errors).toMatchObject(refused);
});

test("events of the service itself start nothing for a key that reaches only some agents of the project", async () => {
  const { secret: someAgents } = await createKey(server, { agentIds: [echo] });
  const { secret: wholeProject } = await createKey(server, { projectIds: [server.world.projectId] });
  const { createProject: beside } = await server.data(
    'mutation { createProject(input: {handle: "beside", name: "Beside"}) { id } }',
  );
  const { secret: otherProject } = await createKey(server, { projectIds: [beside.id], agentIds: [echo] });
  const own = {
    agentId: echo,
    name: "own events",
    trigger: { type: "event", source: "autograph", event: "run.completed" },
  };
  const create = "mutation($input: CreateTriggerInput!) { createTrigger(input: $input) { id } }";
  const refused = { code: "BAD_USER_INPUT", fields: [{ path: "input.trigger.source", code: "not_a_choice" }] };
  for (const key of [someAgents, otherProject])
    expect((await server.graphql(create, { input: own }, key)).errors).toMatchObject([{ extensions: refused }]);
  const other = { ...own, trigger: { ...own.trigger, source: "shop" } };
  const { createTrigger: made } = await server.data(create, { input: other });
  const update = "mutation($input: UpdateTriggerInput!) { updateTrigger(input: $input) { id } }";
  const changed = { triggerId: made.id, trigger: own.trigger };
  expect((await server.graphql(update, { input: changed }, someAgents)).errors).toMatchObject([
    { extensions: refused },
  ]);
  await server.data(update, { input: changed }, wholeProject);
  await server.data(`mutation { deleteTrigger(input: {triggerId: "${made.id}"}) { id } }`);
});
