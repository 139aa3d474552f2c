/** Numbers that a double can't hold keep their digits from door to door (decision 0032). Read and compared as text: what a client gets. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocket } from "ws";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { beside, cli } from "./command-line.ts";
import { eventually } from "./client.ts";
import { agentOf, ENDED } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

/** The sample order of a well-known shop, and what else a double changes; as jq 1.8 spells them. */
const ID = "820982911946154508";
const NUMBERS = `[${ID},-9007199254740993,0.1000000000000000055511151231257827,1E+400,-0,90071992.547409935]`;

let server: MovedServer;
let service: Server;
let base: string;
let echo: string;
/** The request that the service received: its line, headers, and body. */
const seen: string[] = [];

beforeAll(async () => {
  service = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += String(piece)));
    request.on("end", () => {
      seen.push([`${request.method} ${request.url}`, ...request.rawHeaders, body].join("\n"));
      response
        .writeHead(request.url!.startsWith("/gone") ? 404 : 200, { "content-type": "application/json" })
        .end(`{"n":${NUMBERS}}`);
    });
  }).listen(0, "127.0.0.1");
  server = await movedServer();
  base = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  echo = await agentOf(server, "do: [{out: {set: '${ . }'}}]", "echo");
});
afterAll(async () => {
  service.close();
  await server[Symbol.asyncDispose]();
});

/** `variables`: JSON text, and so is the answer. */
async function ask(query: string, variables = "{}", accept = "application/json"): Promise<string> {
  const body = `{"query":${JSON.stringify(query)},"variables":${variables}}`;
  const headers = { authorization: `Bearer ${server.world.apiKey}`, "content-type": "application/json", accept };
  return (await fetch(`${server.url}/graphql`, { method: "POST", headers, body })).text();
}

const RUN = "mutation($i: RunAgentInput!) { runAgent(input: $i) { id status input output error { type detail } } }";
const start = (agentId: string, input: string, more = ""): Promise<string> =>
  ask(RUN, `{"i":{"agentId":"${agentId}","wait":30,"input":${input}${more}}}`);
const ran = async (definition: string, input = "{}"): Promise<string> =>
  start(await agentOf(server, definition), input);
const idIn = (text: string, prefix: string): string => new RegExp(`${prefix}_\\w+`).exec(text)![0];

const TRIGGER = "mutation($i: CreateTriggerInput!) { createTrigger(input: $i) { id url configuration } }";
let names = 0;
const triggerOf = (agentId: string, trigger: string): Promise<string> =>
  ask(TRIGGER, `{"i":{"agentId":"${agentId}","name":"t${++names}","trigger":${trigger}}}`);

/** The input of the one run that a trigger starts. */
const inputOf = (agentId: string): Promise<string> =>
  eventually(async () => {
    const text = await ask(
      "query($a: [ID!]) { runs(filter: {agentId: $a}) { nodes { status input } } }",
      `{"a":"${agentId}"}`,
    );
    return text.includes('"completed"') ? text : undefined;
  });

describe("a run's input and output", () => {
  test("by a variable", async () => {
    const text = await start(echo, `{"n":${NUMBERS}}`);
    expect(text).toContain(`"input":{"n":${NUMBERS}},"output":{"n":${NUMBERS}}`);
    const read = await ask(
      "query($id: ID!) { run(id: $id) { input output steps { input output } } }",
      `{"id":"${idIn(text, "run")}"}`,
    );
    expect(read.split(`{"n":${NUMBERS}}`).length - 1, "input, output, and those of its step").toBeGreaterThanOrEqual(3);
  });

  test("by a literal, and by a variable within one", async () => {
    const text = await ask(
      `mutation($v: JSON) { runAgent(input: {agentId: "${echo}", wait: 30, input: {n: ${NUMBERS}, v: [$v]}}) { status output } }`,
      `{"v":${ID}}`,
    );
    expect(text).toContain(`"output":{"n":${NUMBERS},"v":[${ID}]}`);
  });

  test("a number that can't be kept is refused with its place, by each way", async () => {
    const digits = "7".repeat(5_000);
    expect(await start(echo, `{"a":[{"b":${digits}}]}`)).toContain(
      "has a number of more than 4096 digits at variables.i.input.a.0.b",
    );
    const literal = await ask(
      `mutation { runAgent(input: {agentId: "${echo}", input: {a: [{b: ${digits}}]}}) { id } }`,
    );
    expect(literal).toContain("has a number of more than 4096 digits at a.0.b");
  });

  test("where the API takes a number of its own, one that it can't hold is refused", async () => {
    expect(await ask(`{ runs(first: ${ID}) { nodes { id } } }`)).toContain("errors");
    expect(await ask("query($n: Int) { runs(first: $n) { nodes { id } } }", `{"n":${ID}}`)).toContain(
      "must be a whole number",
    );
    expect(await ask("query($n: ID!) { run(id: $n) { id } }", `{"n":${ID}}`)).toContain("errors");
  });

  test("over a WebSocket", async () => {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    const messages: string[] = [];
    socket.on("message", (data) => messages.push(String(data)));
    const came = (type: string): Promise<string> =>
      eventually(() => messages.find((message) => message.includes(`"type":"${type}"`)));
    await new Promise((resolve) => socket.once("open", resolve));
    socket.send(`{"type":"connection_init","payload":{"Authorization":"Bearer ${server.world.apiKey}"}}`);
    await came("connection_ack");
    const variables = `{"i":{"agentId":"${echo}","wait":30,"input":{"n":${NUMBERS}}}}`;
    socket.send(`{"type":"subscribe","id":"1","payload":{"query":${JSON.stringify(RUN)},"variables":${variables}}}`);
    expect(await came("next")).toContain(`"output":{"n":${NUMBERS}}`);
    socket.terminate();
  });

  test("over Server-Sent Events", async () => {
    const id = idIn(await start(echo, `{"n":${NUMBERS}}`), "run");
    const events = "subscription($id: ID!) { runEvents(runId: $id) { run { status output } step { output } } }";
    const text = await ask(events, `{"id":"${id}"}`, "text/event-stream");
    expect(text).toContain(`"output":{"n":${NUMBERS}}`);
  });
});

describe("what comes by a trigger", () => {
  test("a webhook: its answer, the run's input and the firing's payload", async () => {
    const made = await triggerOf(echo, '{"type":"webhook"}');
    const url = /"url":"([^"]+)"/.exec(made)![1]!;
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}?wait=5`, {
      method: "POST",
      headers,
      body: `{"id":${ID},"n":${NUMBERS}}`,
    });
    expect(await response.text()).toContain(`"output":{"id":${ID},"n":${NUMBERS}}`);
    const firings = await ask(
      "query($id: ID!) { trigger(id: $id) { firings { nodes { payload } } } }",
      `{"id":"${idIn(made, "trig\\w*")}"}`,
    );
    expect(firings).toContain(`"payload":{"id":${ID},"n":${NUMBERS}}`);
  });

  test("an event that is published, and one that comes as a CloudEvent", async () => {
    const agent = await agentOf(server, "do: [{out: {set: '${ . }'}}]");
    await triggerOf(agent, '{"type":"event","source":"shop","event":"paid"}');
    const published = await ask(
      "mutation($i: PublishEventInput!) { publishEvent(input: $i) { id data } }",
      `{"i":{"source":"shop","event":"paid","id":"1","data":{"n":${NUMBERS}}}}`,
    );
    expect(published).toContain(`"data":{"n":${NUMBERS}}`);
    expect(await inputOf(agent)).toContain(`"input":{"n":${NUMBERS}}`);
    const authorization = `Bearer ${server.world.apiKey}`;
    const event = `{"specversion":"1.0","source":"shop","type":"sent","id":"2","data":{"n":${NUMBERS}}}`;
    const sent = await fetch(`${server.url}/events`, {
      method: "POST",
      headers: { authorization, "content-type": "application/cloudevents+json" },
      body: event,
    });
    const id = idIn(await sent.text(), "event");
    expect(await ask("query($id: ID!) { event(id: $id) { data } }", `{"id":"${id}"}`)).toContain(
      `"data":{"n":${NUMBERS}}`,
    );
  });

  test("a filter tells numbers apart that are one double", async () => {
    const filters = ["9007199254740993", "9007199254740992", "9007199254740993.0", `${ID}, 1`];
    const triggers = await Promise.all(
      filters.map((values) =>
        triggerOf(echo, `{"type":"event","source":"ids","event":"e","filter":{"id":[${values}]}}`),
      ),
    );
    expect(triggers[0]).toContain('"filter":{"id":[9007199254740993]}');
    const firedBy = async (data: string): Promise<boolean[]> => {
      const event = `{"i":{"source":"ids","event":"e","id":"${++names}","data":{"id":${data}}}}`;
      const published = await ask("mutation($i: PublishEventInput!) { publishEvent(input: $i) { id } }", event);
      const FIRINGS =
        "query($id: ID!) { event(id: $id) { pending: firings(first: 10) { nodes { trigger { id } outcome } } } }";
      const expected = triggers.map((made) => idIn(made, "trig\\w*"));
      const text = await eventually(async () => {
        const fired = await ask(FIRINGS, `{"id":"${idIn(published, "event")}"}`);
        return fired.includes('"outcome"') ? fired : undefined;
      });
      return expected.map((id) => text.includes(id));
    };
    expect(await firedBy("9007199254740993")).toEqual([true, false, true, false]);
    expect(await firedBy("9007199254740992")).toEqual([false, true, false, false]);
    expect(await firedBy(`[1e3, ${ID}]`)).toEqual([false, false, false, true]);
  });

  test("a fixed input of a schedule", async () => {
    const agent = await agentOf(server, "do: [{out: {set: '${ . }'}}]");
    const made = await triggerOf(
      agent,
      `{"type":"cron","schedule":"0 5 1 1 *","timezone":"UTC","input":{"n":${NUMBERS}}}`,
    );
    expect(made).toContain(`"input":{"n":${NUMBERS}}`);
    await ask(
      "mutation($i: FireTriggerInput!) { fireTrigger(input: $i) { outcome } }",
      `{"i":{"triggerId":"${idIn(made, "trig\\w*")}"}}`,
    );
    expect(await inputOf(agent)).toContain(`"input":{"n":${NUMBERS}}`);
  });
});

describe("an idempotency key", () => {
  test("with another number is another body, also where both are one double; the same number in another spelling is the same", async () => {
    const once = (id: string): Promise<string> => start(echo, `{"id":${id}}`, ',"idempotencyKey":"orders"');
    const first = await once("8202522731445525542");
    expect(await once("8202522731445525541")).toContain('"CONFLICT"');
    expect(await once("8202522731445525542.0")).toContain(idIn(first, "run"));
  });
});

describe("a definition", () => {
  const CONSTANTS = `do:
  - a: {set: {n: ${NUMBERS}, yes: '\${ .id == ${ID} }', no: '\${ .id == 820982911946154509 }'}}
  - b:
      switch:
        - same: {when: '\${ .n[0] == ${ID} and .yes and (.no | not) }', then: c}
        - other: {then: end}
  - c: {set: '\${ . + {went: true} }'}`;
  test("of YAML has its constants in sets and expressions", async () => {
    expect(await ran(CONSTANTS, `{"id":${ID}}`)).toContain(
      `"output":{"n":${NUMBERS},"yes":true,"no":false,"went":true}`,
    );
  });

  test("of JSON has them too; the author learns that a computation would round", async () => {
    const definition = `{"document":{"dsl":"1.0.3","namespace":"test","name":"json","version":"1.0.0"},"do":[{"a":{"set":{"n":${NUMBERS}}}}]}`;
    const published = await ask(
      "mutation($i: PublishAgentInput!) { publishAgent(input: $i) { id } }",
      `{"i":{"definition":${JSON.stringify(definition)}}}`,
    );
    expect(await start(idIn(published, "agent"), "{}")).toContain(`"output":{"n":${NUMBERS}}`);
    const VALIDATE = "query($d: String!) { validateDefinition(definition: $d) { problems { path severity message } } }";
    const checked = await ask(VALIDATE, `{"d":${JSON.stringify(definition)}}`);
    expect(checked).toContain(
      '{"path":"/do/0/a/set/n/0","severity":"warning","message":"this number has more digits than a computation keeps',
    );
    expect(checked).not.toContain('"severity":"error"');
  });

  test("has limits and defaults of its form by all digits", async () => {
    const agent = await agentOf(
      server,
      `input: {schema: {document: {type: object, properties: {
  id: {type: integer, minimum: 9007199254740993, maximum: ${ID}, default: ${ID}},
  even: {type: integer, multipleOf: 2}, part: {type: number, exclusiveMaximum: 0.1000000000000000055511151231257828}}}}}
do: [{out: {set: '\${ . }'}}]`,
    );
    expect(await start(agent, "{}")).toContain(`"output":{"id":${ID}}`);
    expect(await start(agent, '{"id":9007199254740993,"part":0.1000000000000000055511151231257827}')).toContain(
      '"output":{"id":9007199254740993,"part":0.1000000000000000055511151231257827}',
    );
    expect(await start(agent, '{"id":9007199254740992}')).toContain("id: must be at least 9007199254740993");
    expect(await start(agent, '{"id":820982911946154509}')).toContain(`id: must be at most ${ID}`);
    expect(await start(agent, '{"id":9007199254740993.5}')).toContain("id: must be a whole number");
    expect(await start(agent, '{"even":9007199254740993}')).toContain("even: must be a multiple of 2");
    expect(await start(agent, '{"even":9007199254740994}')).toContain('"even":9007199254740994');
    expect(await start(agent, '{"part":0.1000000000000000055511151231257828}')).toContain("part: must be less than");
    const form = await ask(
      "query($a: ID!) { agent(id: $a) { inputSchema inputFields { name default } } }",
      `{"a":"${agent}"}`,
    );
    expect(form).toContain(`"default":${ID}`);
  });
});

describe("jq", () => {
  test("keeps the digits until somebody computes, here and in its own thread", async () => {
    const text = await ran(
      `do:
  - a:
      set:
        paths: '\${ [.n[0], .n[-1], (.n | length)] }'
        texts: '\${ [(.n[0] | tostring), (.n | tojson), "\\(.n[1])"] }'
        order: '\${ [(.n | sort), (.n | min), (.n[0] > .n[1]), ([.n[0], ${ID}] | unique)] }'
        computed: '\${ [.n[0] + 0, .n[0] * 1, (.n[3] + 0 | . > 1e300)] }'
        jq: '\${ .n | map({a: .}) | group_by(.a) | flatten | map(.a) }'
        again: '\${ .n | map(tostring | tonumber) | @json | fromjson }'`,
      `{"n":[${ID},820982911946154509,-9007199254740993,1e400]}`,
    );
    expect(text).toContain(`"paths":[${ID},1E+400,4]`);
    expect(text).toContain(
      `"texts":["${ID}","[${ID},820982911946154509,-9007199254740993,1E+400]","820982911946154509"]`,
    );
    expect(text).toContain(
      `"order":[[-9007199254740993,${ID},820982911946154509,1E+400],-9007199254740993,false,[${ID}]]`,
    );
    expect(text).toContain('"computed":[820982911946154500,820982911946154500,true]');
    expect(text).toContain(`"jq":[-9007199254740993,${ID},820982911946154509,1E+400]`);
    expect(text).toContain(`"again":[${ID},820982911946154509,-9007199254740993,1E+400]`);
  });
});

describe("a call", () => {
  test("sends them in its path, query, headers and body, and has them in what is answered", async () => {
    seen.length = 0;
    const call = `{method: post, endpoint: '${base}/orders/{id}', query: {q: '\${ .id }'}, headers: {X-Id: '\${ .id }'}, body: {id: '\${ .id }', n: ${NUMBERS}}}`;
    expect(await ran(`do: [{send: {call: http, with: ${call}}}]`, `{"id":${ID}}`)).toContain(
      `"output":{"n":${NUMBERS}}`,
    );
    expect(seen).toEqual([expect.stringContaining(`POST /orders/${ID}?q=${ID}\n`)]);
    expect(seen[0]).toContain(`\nx-id\n${ID}\n`);
    expect(seen[0]!.endsWith(`\n{"id":${ID},"n":${NUMBERS}}`)).toBe(true);
  });

  test("sends them in a form, and has them in the body of a refusal", async () => {
    seen.length = 0;
    const form = `{method: post, endpoint: '${base}/form', headers: {Content-Type: application/x-www-form-urlencoded}, body: {id: '\${ .id }', n: [${ID}]}}`;
    const gone = `{method: get, endpoint: '${base}/gone'}`;
    const text = await ran(
      `do:
  - send: {call: http, with: ${form}, output: {as: '\${ $input }'}}
  - attempt:
      try: [{ask: {call: http, with: ${gone}}}]
      catch: {as: error, do: [{out: {set: '\${ $error.response.body }'}}]}`,
      `{"id":${ID}}`,
    );
    expect(text).toContain(`"output":{"n":${NUMBERS}}`);
    expect(seen[0]!.endsWith(`\nid=${ID}&n=${ID}`)).toBe(true);
  });

  test("of another agent, of each item, and of a retry", async () => {
    const child = await agentOf(server, "do: [{out: {set: '${ . }'}}]", "child");
    expect(child).toMatch(/^agent_/);
    const text = await ran(
      `do:
  - every:
      call: each:1.0.0@default
      with:
        in: '\${ .n }'
        do:
          - ask: {run: {workflow: {namespace: test, name: child, version: '1.0.0', input: {n: '\${ $item }'}}}}`,
      `{"n":${NUMBERS}}`,
    );
    const items = NUMBERS.slice(1, -1)
      .split(",")
      .map((number) => `{"n":${number}}`);
    expect(text).toContain(`"output":[${items.join(",")}]`);
    const failing = await ran(
      "do: [{a: {set: {n: '${ .n }'}}}, {b: {raise: {error: {type: 'https://example.org/x', status: 500}}}}]",
      `{"n":${NUMBERS}}`,
    );
    const retried = await ask(
      "mutation($id: ID!) { retryRun(input: {runId: $id}) { id } }",
      `{"id":"${idIn(failing, "run")}"}`,
    );
    const steps = await eventually(async () => {
      const read = await ask(
        "query($id: ID!) { run(id: $id) { status input steps { output } } }",
        `{"id":"${idIn(retried, "run")}"}`,
      );
      return ENDED.some((status) => read.includes(`"${status}"`)) ? read : undefined;
    });
    expect(steps).toContain(`"input":{"n":${NUMBERS}}`);
    expect(steps).toContain(`"output":{"n":${NUMBERS}}`);
  });
});

test("an approval has them in its context, its answer and its output", async () => {
  const text = await ran(
    `do:
  - ask:
      call: approval:1.0.0@default
      with:
        question: Which?
        context: {n: '\${ .n }'}
        form: {type: object, properties: {id: {type: integer, minimum: 9007199254740993}}}`,
    `{"n":${NUMBERS}}`,
  );
  const run = idIn(text, "run");
  const asked = await ask("query($id: ID!) { run(id: $id) { approvals { nodes { id context } } } }", `{"id":"${run}"}`);
  expect(asked).toContain(`"context":{"n":${NUMBERS}}`);
  const decide = (id: string): Promise<string> =>
    ask(
      "mutation($i: DecideApprovalInput!) { decideApproval(input: $i) { status answer } }",
      `{"i":{"approvalId":"${idIn(asked, "appr\\w*")}","decision":"approve","answer":{"id":${id}}}}`,
    );
  expect(await decide("9007199254740992")).toContain("must be at least 9007199254740993");
  expect(await decide(ID)).toContain(`"answer":{"id":${ID}}`);
  expect(await decide(ID), "the same again").toContain(`"answer":{"id":${ID}}`);
  expect(await decide("820982911946154509")).toContain('"CONFLICT"');
  const read = await eventually(async () => {
    const state = await ask("query($id: ID!) { run(id: $id) { status output } }", `{"id":"${run}"}`);
    return state.includes('"completed"') ? state : undefined;
  });
  expect(read).toContain(`"id":${ID}`);
});

test("the command line takes and prints them", async () => {
  const env = beside(server);
  const run = await cli(["run", "echo", "--input", `{"n":${NUMBERS}}`, "--wait", "20", "--json"], { env });
  expect(run.stdout).toContain(`"output":{"n":${NUMBERS}}`);
  const shown = await cli(["run", "echo", "--input", `{"n":${ID}}`, "--wait", "20"], { env });
  expect(shown.stdout).toContain(ID);
});

test("a sentence's long number is read with its digits", async () => {
  const agent = await agentOf(
    server,
    "input: {schema: {document: {type: object, properties: {order: {type: integer, title: Order}}}}}\ndo: [{out: {set: '${ . }'}}]",
  );
  const draft = await ask(
    "mutation($i: DraftInput!) { draftRunInput(input: $i) { input } }",
    `{"i":{"agentId":"${agent}","timezone":"UTC","text":"order ${ID}"}}`,
  );
  expect(draft).toContain(`"input":{"order":${ID}}`);
});

test("after kill -9 the journal has them", async () => {
  const agent = await agentOf(
    server,
    `do:
  - a: {set: '\${ {n: .n, text: (.n | tojson)} }'}
  - pause: {wait: {hours: 1}}
  - b: {set: '\${ {n: .n, isSame: ((.n | tojson) == .text)} }'}`,
  );
  const started = await ask(RUN, `{"i":{"agentId":"${agent}","input":{"n":${NUMBERS}}}}`);
  const id = idIn(started, "run");
  await eventually(async () =>
    (await ask("query($id: ID!) { run(id: $id) { steps { name status } } }", `{"id":"${id}"}`)).includes('"pause"'),
  );
  await server.kill();
  await server.restart();
  await server.clock.advance(3_600_000);
  const read = await eventually(async () => {
    const state = await ask("query($id: ID!) { run(id: $id) { status output } }", `{"id":"${id}"}`);
    return state.includes('"completed"') ? state : undefined;
  });
  expect(read).toContain(`"output":{"n":${NUMBERS},"isSame":true}`);
});
