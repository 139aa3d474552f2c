/** The examples of docs/triggers.md are good: what is asked fits the schema and does what the page says. Its commands: docs.test.ts. */
import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { parse, validate } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSchema } from "../server/src/graphql/schema.ts";
import { publish } from "./agents.ts";
import { eventTriggerOf, firingsOfEvent, publishEvent } from "./published-events.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";
import { CREATE } from "./webhooks.ts";

const PAGE = readFileSync(new URL("../docs/triggers.md", import.meta.url), "utf8");
const examplesOf = (language: string): string[] =>
  [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))].map(([, text]) => text!);

let server: MovedServer;
beforeAll(async () => {
  server = await movedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

test("every request of the page fits the schema", () => {
  const asked = examplesOf("graphql");
  expect(asked.length).toBeGreaterThan(2);
  const schema = createSchema();
  for (const text of asked) expect(validate(schema, parse(text)), text).toEqual([]);
});

/** The one example that has this, asked of the server with the ids that are there. */
async function ask(part: string, ids: Record<string, string> = {}) {
  const [text, ...others] = examplesOf("graphql").filter((example) => example.includes(part));
  expect(others, part).toEqual([]);
  return server.data(text!.replaceAll(/"(agent|trigger)_\w+"/g, (_, kind: string) => JSON.stringify(ids[kind])));
}

test("every request of the page does what the page says", async () => {
  const agent = await publish(server, "echo");
  const made = (await ask("X-Order-Delivery", { agent })).createTrigger;
  const specified = { type: "webhook", url: made.url, method: "POST", authentication: { type: "bearer_token" } };
  expect(made.configuration).toEqual({ trigger: specified });
  expect((await ask("weekly report", { agent })).createTrigger.nextDueAt).toMatch(/T0[67]:00:00.000Z$/);
  expect(await ask("trigger(id:", { trigger: made.id })).toEqual({ trigger: { firings: { nodes: [] } } });
  const answer = examplesOf("json").find((example) => example.includes("cronPreview"));
  expect({ data: await ask("cronPreview(") }).toEqual(JSON.parse(answer!));
});

test("the filter takes the event that is published, and it is said why another is not taken", async () => {
  const echo = await publish(server, "echo");
  const example = examplesOf("json").find((text) => text.includes('"filter"'));
  const { type, source, event, filter } = JSON.parse(example!).trigger;
  expect(type).toBe("event");
  const { id } = await eventTriggerOf(server, echo, { source, event, filter });
  const { firings } = (await ask("publishEvent(")).publishEvent;
  expect(firings.nodes).toMatchObject([{ outcome: "started" }]);
  await server.clock.advance(1);
  await publishEvent(server, { source, event, id: "another", data: { status: "open" } });
  const [{ misses, ...told }] = (await ask("misses")).events.nodes;
  expect(told).toEqual({ sourceId: "another", firings: { nodes: [] }, matches: [] });
  expect(misses).toMatchObject([{ reason: expect.stringContaining("status") }]);
  await server.data("mutation($input: DeleteTriggerInput!) { deleteTrigger(input: $input) { id } }", {
    input: { triggerId: id },
  });
});

test("the mapping makes of the data what the page says", async () => {
  const [, mapping] = /mapping: ("(?:[^"\\]|\\.)*")/.exec(examplesOf("graphql").join())!;
  const [data, input] = examplesOf("json")
    .map((text) => JSON.parse(text))
    .find((example) => Array.isArray(example)) as [object, object];
  const trigger = { source: "shop", event: "order.paid" };
  const echo = await publish(server, "echo");
  await eventTriggerOf(server, echo, trigger, { policy: { mapping: JSON.parse(mapping!) } });
  const { data: sent } = await publishEvent(server, { ...trigger, id: "order 4711", data });
  const [firing] = await firingsOfEvent(server, sent.publishEvent.id);
  expect(firing).toMatchObject({ outcome: "started", payload: data, run: { input } });
});

test("the definition brings its triggers", async () => {
  await server.data(`mutation { createProject(input: {handle: "shop", name: "Shop"}) { id } }`);
  const [definition, ...others] = examplesOf("yaml");
  expect(others).toEqual([]);
  const { publishAgent } = await server.data(
    `mutation($definition: String!) { publishAgent(input: {definition: $definition}) { triggers { nodes { name type isManaged } } } }`,
    { definition },
  );
  expect(publishAgent.triggers.nodes.toReversed()).toEqual([
    { name: "nightly", type: "cron", isManaged: true },
    { name: "shop", type: "webhook", isManaged: true },
  ]);
});

const FORM = `
document: {dsl: "1.0.3", namespace: test, name: strict, version: "1.0.0"}
input:
  schema:
    document:
      type: object
      properties: {who: {type: string, enum: ["it's", b]}, amount: {type: number, minimum: 20}, note: {type: string}, day: {type: string, format: date}}
      required: [who, amount, day]
do: [{echo: {set: '\${ . }'}}]
`;

const isMissing = spawnSync("curl", ["--version"]).error !== undefined;

test.skipIf(isMissing)("a webhook's command has an input that its agent takes", async () => {
  const { publishAgent } = await server.data("mutation($d: String!) { publishAgent(input: {definition: $d}) { id } }", {
    d: FORM,
  });
  const input = { agentId: publishAgent.id, name: "copied", trigger: { type: "webhook" } };
  const { createTrigger } = await server.data(CREATE, { input });
  const { stdout } = await promisify(execFile)("sh", ["-c", createTrigger.curl]);
  const { runId } = JSON.parse(stdout);
  const { run } = await server.data("query($id: ID!) { run(id: $id) { input } }", { id: runId });
  expect(run.input).toEqual({ who: "it's", amount: 20, day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) });

  const unread = await server.graphql(
    CREATE,
    { input: { ...input, name: "unread" } },
    await server.key(["triggers:write"]),
  );
  expect(unread.data.createTrigger.curl, "the form is not theirs to read").toContain("-d '{}'");
  const mapped = { ...input, name: "mapped", policy: { mapping: '{who: "b", amount: .total}' } };
  expect((await server.data(CREATE, { input: mapped })).createTrigger.curl).toContain("-d '{}'");
});

test("a form that wants a billion characters, or has thousands of choices, makes the command of no trigger large", async () => {
  const choices = JSON.stringify(Array.from({ length: 1_000 }, (_, index) => `choice ${index}`));
  const fields = Array.from({ length: 10 }, (_, index) => `field${index}: {type: string, enum: ${choices}}`).join(", ");
  const definition = FORM.replace("name: strict", "name: large").replace(
    /properties: .*\n.*required: .*/,
    `properties: {text: {type: string, minLength: 1000000000}, ${fields}}\n      required: [text, field0]`,
  );
  const { publishAgent } = await server.data("mutation($d: String!) { publishAgent(input: {definition: $d}) { id } }", {
    d: definition,
  });
  for (let count = 0; count < 20; count++)
    await server.data(CREATE, {
      input: { agentId: publishAgent.id, name: `large ${count}`, trigger: { type: "webhook" } },
    });
  const { agent } = await server.data(
    `{ agent(id: "${publishAgent.id}") { triggers(first: 100) { nodes { curl } } } }`,
  );
  expect(agent.triggers.nodes).toHaveLength(20);
  for (const { curl } of agent.triggers.nodes) expect(curl.length).toBeLessThan(1_000);
});

test("commands count for the size of the answer", async () => {
  const texts = "{type: array, minItems: 20, items: {type: string, minLength: 200}}";
  const names = Array.from({ length: 60 }, (_, index) => `list${index}`);
  const definition = FORM.replace("name: strict", "name: wordy").replace(
    /properties: .*\n.*required: .*/,
    `properties: {${names.map((name) => `${name}: ${texts}`).join(", ")}}\n      required: [${names.join(", ")}]`,
  );
  const { publishAgent } = await server.data("mutation($d: String!) { publishAgent(input: {definition: $d}) { id } }", {
    d: definition,
  });
  const input = { agentId: publishAgent.id, name: "wordy", trigger: { type: "webhook" } };
  const { createTrigger } = await server.data(CREATE, { input });
  expect(createTrigger.curl.length).toBeGreaterThan(200_000);
  const aliases = Array.from({ length: 50 }, (_, index) => `a${index}: curl`).join(" ");
  const { errors } = await server.graphql(`{ trigger(id: "${createTrigger.id}") { ${aliases} } }`);
  expect(errors).toMatchObject([{ extensions: { code: "QUERY_TOO_COMPLEX" } }]);
});
