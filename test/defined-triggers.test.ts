/** Triggers that a definition brings: publishing makes, changes and deletes them. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeId } from "../server/src/lib/ids.ts";
import { type Data } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { call, webhookOf } from "./webhooks.ts";

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const definitionOf = (name: string, version: string, triggers: unknown): string =>
  JSON.stringify({
    document: { dsl: "1.0.3", namespace: "test", name, version, metadata: { owner: "me", triggers } },
    do: [{ echo: { set: "${ . }" } }],
  });
const PUBLISH = "mutation($definition: String!) { publishAgent(input: {definition: $definition}) { id } }";
const publish = async (name: string, version: string, triggers: unknown): Promise<string> =>
  (await server.data(PUBLISH, { definition: definitionOf(name, version, triggers) })).publishAgent.id;
const triggersOf = async (agentId: string): Promise<Record<string, Data>> => {
  const { agent } = await server.data(
    `{ agent(id: "${agentId}") { triggers { nodes { id name type status isManaged url nextDueAt schedule policy { overlap } createdBy { kind } } } } }`,
  );
  return Object.fromEntries(agent.triggers.nodes.map((trigger: Data) => [trigger.name, trigger]));
};
/** Their tokens as the database holds them. */
async function tokensOf(triggers: Data[]): Promise<unknown[]> {
  const database = await connectTo(server);
  const ids = triggers.map(({ id }) => decodeId("trigger", id));
  const { rows } = await database.query("select sealed from webhook_tokens where trigger_id = any($1::uuid[])", [ids]);
  await database.end();
  return rows;
}
const CRON = { type: "cron", schedule: "0 8 * * *", timezone: "Europe/Berlin" };
const HOOK = { name: "hook", trigger: { type: "webhook" } };

test("are refused as a whole when the agent would have too many with its own", async () => {
  const agent = await publish("crowded", "1.0.0", [HOOK]);
  for (let made = 0; made < 98; made += 14)
    await Promise.all(
      Array.from({ length: 14 }, (_, index) => webhookOf(server, agent, { name: `own ${made + index}` })),
    );
  const more = (version: string, count: number) =>
    server.graphql(PUBLISH, {
      definition: definitionOf("crowded", version, [
        HOOK,
        ...Array.from({ length: count }, (_, index) => ({ ...HOOK, name: `another ${index}` })),
      ]),
    });
  expect((await more("1.1.0", 2)).errors).toMatchObject([
    { message: "an agent has at most 100 triggers: delete one first", extensions: { reason: "limit_reached" } },
  ]);
  expect(Object.keys(await triggersOf(agent)).filter((name) => name.startsWith("another"))).toEqual([]);
  expect((await more("1.2.0", 1)).errors).toBeUndefined();
});

test("begin as their status says, and keep what they were set to", async () => {
  const paused = { name: "daily", trigger: CRON, status: "paused" };
  const agent = await publish("paused", "1.0.0", [paused, { ...HOOK, status: "active" }]);
  const first = await triggersOf(agent);
  expect(first).toMatchObject({ daily: { status: "paused", nextDueAt: null }, hook: { status: "active" } });
  await server.data(`mutation { setTriggerStatus(input: {triggerId: "${first["daily"].id}", status: active}) { id } }`);
  await publish("paused", "1.1.0", [{ ...paused, trigger: { ...CRON, schedule: "0 9 * * *" } }]);
  expect(await triggersOf(agent)).toMatchObject({ daily: { status: "active", nextDueAt: expect.any(String) } });
});

test("are made, changed, kept and deleted with the version that is published", async () => {
  const other = await publish("others", "1.0.0", [HOOK]);
  const agent = await publish("bringing", "1.0.0", [{ name: "daily", trigger: CRON }, HOOK]);
  const own = await webhookOf(server, agent, { name: "own" });
  const first = await triggersOf(agent);
  expect(first).toMatchObject({
    daily: {
      type: "cron",
      isManaged: true,
      status: "active",
      nextDueAt: expect.any(String),
      createdBy: { kind: "key" },
    },
    hook: { type: "webhook", isManaged: true, policy: { overlap: null } },
    own: { isManaged: false },
  });
  expect((await call(first["hook"].url)).status).toBe(202);
  await server.data(`mutation { setTriggerStatus(input: {triggerId: "${first["daily"].id}", status: paused}) { id } }`);

  await publish("bringing", "1.1.0", [
    { name: "daily", trigger: { ...CRON, schedule: "0 9 * * *" } },
    { ...HOOK, policy: { overlap: "skip" } },
    { name: "second", trigger: { type: "webhook" } },
  ]);
  const second = await triggersOf(agent);
  expect(second).toMatchObject({
    daily: { id: first["daily"].id, schedule: "0 9 * * *", status: "paused", nextDueAt: null },
    hook: { id: first["hook"].id, url: first["hook"].url, policy: { overlap: "skip" } },
    second: { isManaged: true },
    own: { url: own.url },
  });

  // Another type is another trigger.
  await publish("bringing", "1.2.0", [{ name: "hook", trigger: CRON }]);
  const third = await triggersOf(agent);
  expect(Object.keys(third).toSorted()).toEqual(["hook", "own"]);
  expect(third["hook"]).toMatchObject({ type: "cron", url: null });
  expect(
    await Promise.all([first["hook"].url, second["second"].url].map(async (url) => (await call(url)).status)),
  ).toEqual([404, 404]);
  expect((await call(own.url)).status).toBe(202);

  await server.data(`mutation { publishAgentVersion(input: {agentId: "${agent}", version: "1.0.0"}) { id } }`);
  const again = await triggersOf(agent);
  expect(Object.keys(again).toSorted()).toEqual(["daily", "hook", "own"]);
  expect(again["hook"].url).not.toBe(first["hook"].url);
  await publish("bringing", "2.0.0", undefined);
  expect(Object.keys(await triggersOf(agent))).toEqual(["own"]);
  await server.data(`mutation { deleteTrigger(input: {triggerId: "${own.id}"}) { id } }`);
  expect((await call(own.url)).status).toBe(404);
  const removed = [first["hook"], second["second"], again["hook"], own];
  expect(await tokensOf(removed)).toEqual([]);
  expect(await tokensOf([(await triggersOf(other))["hook"], ...removed])).toHaveLength(1);

  const { auditEvents } = await server.data(
    `{ auditEvents(filter: {action: [agent_published]}, first: 5) { nodes { detail } } }`,
  );
  expect(auditEvents.nodes.map(({ detail }: Data) => detail.triggers).toReversed()).toEqual([
    { created: 2, changed: 0, deleted: 0 },
    { created: 1, changed: 2, deleted: 0 },
    { created: 1, changed: 0, deleted: 3 },
    { created: 2, changed: 0, deleted: 1 },
    { created: 0, changed: 0, deleted: 2 },
  ]);
});

test("are changed by publishing alone, but for their status and URL", async () => {
  const agent = await publish("managed", "1.0.0", [HOOK]);
  const { hook } = (await triggersOf(agent)) as { hook: Data };
  const refused = async (mutation: string): Promise<Data> =>
    (await server.graphql(`mutation { ${mutation} { id } }`)).errors?.[0]?.extensions;
  for (const mutation of [
    `updateTrigger(input: {triggerId: "${hook.id}", name: "mine"})`,
    `deleteTrigger(input: {triggerId: "${hook.id}"})`,
  ])
    expect(await refused(mutation)).toMatchObject({ code: "CONFLICT", reason: "wrong_state" });
  expect(await refused(`setTriggerStatus(input: {triggerId: "${hook.id}", status: paused})`)).toBeUndefined();
  expect(await refused(`rotateWebhookToken(input: {triggerId: "${hook.id}", overlapMinutes: 0})`)).toBeUndefined();
});

test("are made, changed and deleted by nobody who lacks triggers:write", async () => {
  const key = await server.key(["agents:read", "agents:write"]);
  const text = (version: string, triggers: unknown) => ({ definition: definitionOf("guarded", version, triggers) });
  const refused = [
    {
      message: "this needs the scope triggers:write (document.metadata.triggers)",
      extensions: { code: "FORBIDDEN", scope: "triggers:write" },
    },
  ];
  const everyMinute = { name: "daily", trigger: { ...CRON, schedule: "* * * * *" } };
  expect((await server.graphql(PUBLISH, text("1.0.0", [everyMinute]), key)).errors).toMatchObject(refused);
  const signed = { ...HOOK, policy: { allowedAddresses: ["192.0.2.1"] } };
  const agent = await publish("guarded", "1.0.0", [signed]);
  const saved = "mutation($definition: String!) { saveAgentDraft(input: {definition: $definition}) { id } }";
  const draft = `mutation { publishAgentDraft(input: {agentId: "${agent}"}) { id } }`;
  const back = `mutation { publishAgentVersion(input: {agentId: "${agent}", version: "1.0.0"}) { id } }`;
  for (const triggers of [[signed, everyMinute], [HOOK], []]) {
    expect((await server.graphql(PUBLISH, text("1.1.0", triggers), key)).errors).toMatchObject(refused);
    await server.data(saved, text("1.1.0", triggers), key);
    expect((await server.graphql(draft, {}, key)).errors).toMatchObject(refused);
  }
  const { hook } = await triggersOf(agent);
  expect((await call(hook!.url)).status).toBe(403);
  // A text that leaves them unchanged is published without it.
  await server.data(PUBLISH, text("1.2.0", [signed]), key);
  await server.data(back, {}, key);
  await publish("guarded", "1.3.0", []);
  expect((await server.graphql(back, {}, key)).errors).toMatchObject(refused);
  expect(await triggersOf(agent)).toEqual({});
  const { apiKeyPresets } = await server.data("{ apiKeyPresets { id scopes } }");
  const { scopes } = apiKeyPresets.find(({ id }: Data) => id === "ci-publish");
  await server.data(back, {}, await server.key(scopes));
  expect(Object.keys(await triggersOf(agent))).toEqual(["hook"]);
});

test("a name that is taken keeps the version from being published", async () => {
  const agent = await publish("taken", "1.0.0", []);
  await webhookOf(server, agent, { name: "hook" });
  const { errors } = await server.graphql(PUBLISH, { definition: definitionOf("taken", "1.1.0", [HOOK]) });
  expect(errors).toMatchObject([{ extensions: { code: "CONFLICT", reason: "name_taken" } }]);
  expect((await server.data(`{ agent(id: "${agent}") { version } }`)).agent.version).toBe("1.0.0");
});

test.each<[string, unknown, string, string]>([
  ["no list", {}, "", "write a list of triggers"],
  ["no object", ["hook"], "/0", "must be an object with name, trigger and policy"],
  ["no name", [{ trigger: { type: "webhook" } }], "/0", "name must be text"],
  ["no trigger", [{ name: "x" }], "/0", "trigger must be an object with type"],
  ["another type", [{ name: "x", trigger: { type: "other" } }], "/0/trigger/type", "trigger.type must be cron"],
  [
    "another type's key",
    [{ name: "x", trigger: { type: "webhook", schedule: "* * * * *" } }],
    "/0/trigger/schedule",
    "belongs to triggers of type",
  ],
  [
    "a wrong schedule",
    [{ name: "x", trigger: { ...CRON, schedule: "61 * * * *" } }],
    "/0/trigger/schedule",
    "is refused",
  ],
  [
    "a wrong policy",
    [{ ...HOOK, policy: { overlap: "some" } }],
    "/0/policy/overlap",
    "must be skip, queue, allow or cancelPrevious",
  ],
  ["a status that there is not", [{ ...HOOK, status: "asleep" }], "/0/status", "must be active or paused"],
  ["a key too many", [{ ...HOOK, more: 1 }], "/0/more", "is not known"],
  ["a name twice", [HOOK, HOOK], "/1/name", "another trigger with this name"],
  ["too many", Array.from({ length: 101 }, (_, index) => ({ ...HOOK, name: `h${index}` })), "", "at most 100 triggers"],
])("with %s are a problem of the definition, at its place", async (_, triggers, at, message) => {
  const definition = definitionOf("wrong", "1.0.0", triggers);
  const { validateDefinition } = await server.data(
    "query($definition: String!) { validateDefinition(definition: $definition) { valid problems { path message line } } }",
    { definition },
  );
  expect(validateDefinition).toMatchObject({
    valid: false,
    problems: [{ path: `/document/metadata/triggers${at}`, message: expect.stringContaining(message) }],
  });
  const { errors } = await server.graphql(PUBLISH, { definition });
  expect(errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT", reason: "invalid_definition" } }]);
});

test("are checked as createTrigger checks them: against the form and the project's secrets, with their places", async () => {
  const definition = `document:
  dsl: 1.0.3
  namespace: test
  name: checked
  version: 1.0.0
  metadata:
    triggers:
      - name: daily
        trigger: {type: cron, schedule: "0 8 * * *", timezone: Europe/Berlin, input: {n: many, m: 1}}
      - name: signed
        trigger: {type: webhook}
        policy: {signature: {preset: shopify, secret: signing}}
input: {schema: {document: {type: object, properties: {n: {type: number}, kind: {enum: [a, b]}}, required: [n]}}}
do:
  - done: {set: {ok: true}}
`;
  const VALIDATE = `query($definition: String!) { validateDefinition(definition: $definition) { valid problems { path line column message severity } } }`;
  const at = "/document/metadata/triggers";
  const problems = [
    {
      path: `${at}/0/trigger/input/n`,
      line: 9,
      column: 90,
      message: "trigger.input.n must be a number",
      severity: "error",
    },
    {
      path: `${at}/0/trigger/input/m`,
      line: 9,
      column: 99,
      message: expect.stringContaining('there is no field "m"'),
      severity: "error",
    },
    {
      path: `${at}/1/policy/signature/secret`,
      line: 12,
      column: 55,
      message: expect.stringContaining("set it first"),
      severity: "error",
    },
  ];
  expect((await server.data(VALIDATE, { definition })).validateDefinition).toEqual({ valid: false, problems });
  const { errors } = await server.graphql(PUBLISH, { definition });
  expect(errors).toMatchObject([
    {
      extensions: {
        code: "BAD_USER_INPUT",
        reason: "invalid_definition",
        fields: problems.map(({ path, line, column }) => ({ path: `input.definition${path}`, line, column })),
      },
    },
  ]);
  const { setSecret } = await server.data("mutation($input: SetSecretInput!) { setSecret(input: $input) { id } }", {
    input: { projectId: server.world.projectId, name: "signing", value: "value" },
  });
  const good = definition.replace("{n: many, m: 1}", "{n: 1, kind: b}");
  expect((await server.data(VALIDATE, { definition: good })).validateDefinition).toEqual({ valid: true, problems: [] });
  const { publishAgent } = await server.data(PUBLISH, { definition: good });
  const inputFields = `{ agent(id: "${publishAgent.id}") { inputFields { name type choices { value } } } }`;
  expect((await server.data(inputFields)).agent.inputFields[1]).toEqual({
    name: "kind",
    type: "choice",
    choices: [{ value: "a" }, { value: "b" }],
  });
  const run = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  const refused = await server.graphql(run, { input: { agentId: publishAgent.id, input: { n: 1, kind: "c" } } });
  expect(refused.errors).toMatchObject([
    { extensions: { fields: [{ path: "input.input.kind", code: "not_a_choice" }] } },
  ]);
  // An older version is checked again when it comes back.
  await server.data(PUBLISH, { definition: good.replace("version: 1.0.0", "version: 1.1.0") });
  await server.data(`mutation { deleteSecret(input: {secretId: "${setSecret.id}"}) { id } }`);
  const back = await server.graphql(
    "mutation($input: PublishAgentVersionInput!) { publishAgentVersion(input: $input) { id } }",
    { input: { agentId: publishAgent.id, version: "1.0.0" } },
  );
  expect(back.errors).toMatchObject([
    { extensions: { fields: [{ path: `input.definition${at}/1/policy/signature/secret`, line: 12 }] } },
  ]);
});

test("say which trigger stands for a key of `schedule`, and what has no effect is a warning", async () => {
  const VALIDATE = `query($definition: String!) { validateDefinition(definition: $definition) { valid problems { path line message severity } } }`;
  const onEvent = `document: {dsl: 1.0.3, namespace: test, name: on-event, version: 1.0.0}
schedule:
  on: {one: {with: {type: com.example.order.paid}}}
do: [{note: {set: {ok: true}}}]
`;
  expect((await server.data(VALIDATE, { definition: onEvent })).validateDefinition).toEqual({
    valid: false,
    problems: [
      { path: "/schedule/on", line: 3, message: expect.stringContaining("a trigger of type event"), severity: "error" },
    ],
  });
  const introspection = `document: {dsl: 1.0.3, namespace: test, name: introspection, version: 1.0.0}
do:
  - getPet:
      call: http
      with:
        method: get
        endpoint:
          uri: https://shop.example.com/pet/{petId}
          authentication:
            oauth2:
              authority: https://login.example.com/realms/shop
              endpoints: {token: /auth/token, introspection: /auth/introspect}
              grant: client_credentials
              client: {id: robot, secret: example}
`;
  expect((await server.data(VALIDATE, { definition: introspection })).validateDefinition).toEqual({
    valid: true,
    problems: [
      {
        path: "/do/0/getPet/with/endpoint/authentication/oauth2/endpoints/introspection",
        line: 12,
        message: expect.stringContaining("has no effect"),
        severity: "warning",
      },
    ],
  });
  expect((await server.graphql(PUBLISH, { definition: introspection })).errors).toBeUndefined();
});
