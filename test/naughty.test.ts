/**
 * Texts that have broken other programs, through every place of the schema that takes a text, and through all that is stored and shown
 * (design.md, section 4): each comes back unchanged or is refused politely. A name is stored as NFC without surrounding space.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish } from "./agents.ts";
import { eventually, type Answer, type Data } from "./client.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { NAUGHTY, naughtyAt } from "./hostile/naughty.ts";
import { nameOf, operationOf, textInputs, type Given, type TextInput } from "./hostile/text-inputs.ts";
import { agentOf } from "./runs.ts";
import { scaled } from "./scale.ts";
import { acknowledged } from "./web-socket.ts";

let server: SharedServer;
/** The arguments beside a text, so that it is reached: existing ids. */
let given: Given;
/** For triggers, of which each has only so many. */
let hooked: string[];
beforeAll(async () => {
  server = await sharedServer();
  given = { projectId: server.world.projectId, agentId: await publish(server, "echo") };
  const agents = Array.from({ length: Math.ceil(NAUGHTY.length / LIMITS.triggersPerAgent) });
  hooked = await Promise.all(agents.map(() => agentOf(server, "do: [{one: {set: '${ . }'}}]")));
});
afterAll(() => server[Symbol.asyncDispose]());

const inputs = textInputs();
const POLITE = ["BAD_USER_INPUT", "NOT_FOUND", "CONFLICT", "FORBIDDEN", "UNAUTHENTICATED", "RATE_LIMITED"];
/** For texts that count as the document's own: fewer at a time. */
const TOO_MUCH = ["QUERY_TOO_COMPLEX", "GRAPHQL_VALIDATION_FAILED"];

const codesOf = ({ errors }: Answer): string[] => (errors ?? []).map(({ extensions }) => extensions.code);

const name = (text: string): string => text.normalize("NFC").trim();
const exactly = (text: string): string => text;

/** Mutations that store and show a text at once: where the answer has it, and in which form. */
type Shown = {
  selection: string;
  read(answer: Data): unknown;
  form(text: string): unknown;
  beside?: (index: number) => Given;
  value?: (text: string) => unknown;
};
const SHOWN: Record<string, Shown> = {
  "mutation createProject(input.handle)": { selection: "{ handle }", read: ({ handle }) => handle, form: exactly },
  "mutation createProject(input.name)": {
    selection: "{ name }",
    read: (answer) => answer.name,
    form: name,
    beside: (index) => ({ handle: `project-${index}` }),
  },
  "mutation renameOrganization(input.name)": { selection: "{ name }", read: (answer) => answer.name, form: name },
  "mutation inviteMember(input.email)": {
    selection: "{ email }",
    read: ({ email }) => email,
    form: (text) => name(`${text}@example.org`),
    value: (text) => `${text}@example.org`,
  },
  "mutation createApiKey(input.name)": {
    selection: "{ name }",
    read: (answer) => answer.name,
    form: name,
    beside: () => ({ scopes: ["runs:read"] }),
  },
  "mutation setSecret(input.name)": { selection: "{ name }", read: (answer) => answer.name, form: exactly },
  "mutation saveAgentDraft(input.definition)": {
    selection: "{ draft { definition } }",
    read: ({ draft }) => draft.definition,
    form: exactly,
    beside: () => ({ agentId: given["agentId"] }),
  },
  "mutation createTrigger(input.name)": {
    selection: "{ name }",
    read: (answer) => answer.name,
    form: name,
    beside: (index) => ({
      agentId: hooked[Math.floor(index / LIMITS.triggersPerAgent)],
      trigger: { type: "webhook" },
    }),
  },
  "mutation publishEvent(input.source)": { selection: "{ source }", read: ({ source }) => source, form: exactly },
  "mutation publishEvent(input.event)": {
    selection: "{ event }",
    read: ({ event }) => event,
    form: exactly,
    beside: (index) => ({ id: `event ${index}` }),
  },
  "mutation publishEvent(input.id)": { selection: "{ sourceId }", read: ({ sourceId }) => sourceId, form: exactly },
  "mutation publishEvent(input.data)": {
    selection: "{ data }",
    read: ({ data }) => data.text,
    form: exactly,
    beside: (index) => ({ id: `data ${index}` }),
    value: (text) => ({ text }),
  },
  "mutation runAgent(input.input)": {
    selection: "{ input }",
    read: ({ input }) => input.text,
    form: exactly,
    value: (text) => ({ text }),
  },
};

const EVERY = scaled({ whole: 1, part: 24 });
const textsFor = (place: number): readonly string[] => naughtyAt(place, EVERY);
const SAID = naughtyAt(0, scaled({ whole: 1, part: 6 }));

/** The number of texts in one operation, as the document's limits allow. */
const AT_ONCE = LIMITS.queryAliases;

async function tryInput(input: TextInput, texts: readonly string[]): Promise<string[]> {
  const shown = SHOWN[nameOf(input)];
  const troubles: string[] = [];
  let accepted = 0;
  const say = (text: string, what: unknown): void =>
    void troubles.push(`${JSON.stringify(text)}: ${JSON.stringify(what)}`);
  let atOnce: number = AT_ONCE;

  const ask = async (texts: readonly string[], first: number): Promise<void> => {
    const values = texts.map((text) => shown?.value?.(text) ?? text);
    const beside = (index: number): Given => ({
      ...(input.path.includes("projectId") ? {} : given),
      ...shown?.beside?.(first + index),
    });
    const { query, variables } = operationOf(input, values, beside, shown?.selection);
    const answer = await server.graphql(query, variables);
    if (codesOf(answer).some((code) => TOO_MUCH.includes(code)) && texts.length > 1) {
      atOnce = Math.ceil(texts.length / 4);
      return askAll(texts, first);
    }
    const rude = codesOf(answer).find((code) => !POLITE.includes(code));
    if (rude !== undefined) say(texts.join(" "), answer.errors);
    for (const [index, text] of texts.entries()) {
      const one = answer.data?.[`a${index}`];
      if (one == null) continue;
      accepted++;
      if (shown && shown.read(one) !== shown.form(text)) say(text, shown.read(one));
    }
  };
  const askAll = async (texts: readonly string[], first = 0): Promise<void> => {
    for (let at = 0; at < texts.length; at += atOnce) await ask(texts.slice(at, at + atOnce), first + at);
  };
  await askAll(texts);
  if (shown && accepted === 0) troubles.push("none was accepted");
  return troubles;
}

describe("each text input takes it unchanged, or refuses it politely", () => {
  const asked = inputs.filter(({ root }) => root !== "subscription");
  test("the fields shown at once are still in the schema", () => {
    expect(Object.keys(SHOWN).filter((one) => !asked.map(nameOf).includes(one))).toEqual([]);
    expect(asked.length).toBeGreaterThan(70);
  });
  test.for(asked.map((input, place) => [nameOf(input), input, place] as const))("%s", async ([, input, place]) => {
    expect(await tryInput(input, textsFor(place))).toEqual([]);
  });
});

type Sent = { id: string; payload: object };

/** Each as an operation of its own over one WebSocket: the first message that came for it. */
async function overWebSocket(operations: readonly Sent[]): Promise<Data[]> {
  using socket = await acknowledged(server, server.world.apiKey);
  const first = new Map<string, Data>();
  for (let at = 0; at < operations.length; at += LIMITS.subscriptionsPerConnection) {
    const some = operations.slice(at, at + LIMITS.subscriptionsPerConnection);
    for (const { id, payload } of some) socket.send({ id, type: "subscribe", payload });
    await eventually(() => {
      for (const message of socket.messages.splice(0)) if (!first.has(message.id)) first.set(message.id, message);
      return some.every(({ id }) => first.has(id));
    });
    // Nothing is left under way, whatever it was answered.
    for (const { id } of some) socket.send({ id, type: "complete" });
    socket.send({ type: "ping" });
    await socket.next("pong");
  }
  return operations.map(({ id }) => first.get(id));
}

/** A filter that takes any text: what it stands for comes or not. */
const ANY_TEXT = "subscription eventsChanged(source)";

test("as the source of events that are watched it is taken, or refused politely", async () => {
  const input = inputs.find((one) => nameOf(one) === ANY_TEXT)!;
  // One place is left for the last.
  const BESIDE_LAST = LIMITS.subscriptionsPerConnection - 1;
  using socket = await acknowledged(server, server.world.apiKey);
  for (let at = 0; at < NAUGHTY.length; at += BESIDE_LAST) {
    const some = NAUGHTY.slice(at, at + BESIDE_LAST).map((text, index) => ({
      id: `${at + index}`,
      text,
    }));
    for (const { id, text } of some)
      socket.send({ id, type: "subscribe", payload: operationOf(input, [text], () => ({})) });
    socket.send({ id: "last", type: "subscribe", payload: { query: "{ __typename }" } });
    // Its end, too: left over, it would be taken for the next round's.
    await eventually(() => socket.messages.some(({ id, type }) => id === "last" && type === "complete"));
    const refused = socket.messages.splice(0).filter(({ type }) => type === "error");
    expect(refused.filter(({ payload }) => !POLITE.includes(payload[0].extensions.code))).toEqual([]);
    expect(refused.length).toBeLessThan(some.length);
    for (const { id } of some) socket.send({ id, type: "complete" });
    socket.send({ type: "ping" });
    await socket.next("pong");
  }
});

test("each text input of a subscription refuses it politely", async () => {
  const asked = inputs.filter(({ root }) => root === "subscription").filter((input) => nameOf(input) !== ANY_TEXT);
  expect(asked.length).toBeGreaterThan(5);
  const operations = asked.flatMap((input, place) =>
    textsFor(place).map((text, index) => ({
      id: `${nameOf(input)} ${index}`,
      payload: operationOf(input, [text], () => ({})),
    })),
  );
  const rude = (await overWebSocket(operations)).filter(({ payload }) => {
    const [error] = Array.isArray(payload) ? payload : (payload.errors ?? []);
    return !POLITE.includes(error?.extensions.code);
  });
  expect(rude).toEqual([]);
});

test("as an operation's id over a WebSocket it comes back unchanged", async () => {
  // The empty one closes the connection (close-codes.test.ts).
  const ids = NAUGHTY.filter((text) => text !== "" && text.length <= LIMITS.operationIdCharacters);
  const got = await overWebSocket(ids.map((id) => ({ id, payload: { query: "{ __typename }" } })));
  expect(got).toEqual(ids.map((id) => ({ id, type: "next", payload: { data: { __typename: "Query" } } })));
});

test("as an operationName nobody knows it, and as the name of a variable nobody asks for it", async () => {
  const headers = { "content-type": "application/json", authorization: `Bearer ${server.world.apiKey}` };
  const ask = async (body: object): Promise<Data> => {
    const response = await fetch(`${server.url}/graphql`, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: response.status, ...((await response.json()) as object) };
  };
  for (const text of textsFor(0).filter((one) => one !== "")) {
    const { status, errors } = await ask({ query: "query a { __typename }", operationName: text });
    expect({ status, code: errors[0].extensions.code }, text).toEqual({
      status: 200,
      code: "GRAPHQL_VALIDATION_FAILED",
    });
  }
  const variables = Object.fromEntries(NAUGHTY.filter((text) => text !== "__proto__").map((text) => [text, text]));
  expect(await ask({ query: "{ __typename }", variables })).toEqual({ status: 200, data: { __typename: "Query" } });
});

const HEADERS = ["x-request-id", "idempotency-key", "accept", "origin", "authorization", "x-forwarded-for"];

test("in headers: answered, and a request id is repeated only if it may be written to a log", async () => {
  for (const [place, name] of HEADERS.entries()) {
    for (const text of textsFor(place)) {
      // No client sends others; by hand: attacks-http.test.ts.
      if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) continue;
      const headers = { "content-type": "application/json", [name]: text };
      const body = JSON.stringify({ query: "{ __typename }" });
      const response = await fetch(`${server.url}/graphql`, { method: "POST", headers, body });
      expect(name === "authorization" ? [200, 401, 429] : [200], `${name}: ${text}`).toContain(response.status);
      const id = response.headers.get("x-request-id")!;
      expect(id).toMatch(/^[\w.:-]{1,128}$/);
      if (name === "x-request-id" && /^[\w.:-]+$/.test(text)) expect(id).toBe(text);
      await response.text();
    }
  }
});

const START = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id status input output } }";
const PUBLISH =
  "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id name description definition inputFields { name title description default choices { value title } } } }";

/** Publishes with all of these texts, or with those that are accepted, and returns the refused ones. */
async function publishEach(
  texts: readonly string[],
  definitionOf: (texts: readonly string[]) => object,
  check: (agent: Data, texts: readonly string[], definition: string) => unknown,
): Promise<string[]> {
  // A definition's text has no control characters: JSON would leave this one as it is.
  const definition = JSON.stringify(definitionOf(texts)).replaceAll("\u007f", "\\u007f");
  const { data, errors } = await server.graphql(PUBLISH, { input: { projectId: server.world.projectId, definition } });
  if (!errors) {
    await check(data.publishAgent, texts, definition);
    return [];
  }
  expect(errors[0]!.extensions).toMatchObject({ code: "BAD_USER_INPUT", reason: "invalid_definition" });
  if (texts.length === 1) return [...texts];
  const half = Math.ceil(texts.length / 2);
  const halves = [texts.slice(0, half), texts.slice(half)];
  return (await Promise.all(halves.map((some) => publishEach(some, definitionOf, check)))).flat();
}

let definitions = 0;
const documentOf = (more: object = {}): object => ({
  dsl: "1.0.3",
  namespace: "test",
  name: `naughty-${++definitions}`,
  version: "1.0.0",
  ...more,
});
const QUIET = [{ one: { set: { a: 1 } } }];

/** Characters that text may not have where people write it: PostgreSQL's text has no NUL, and UTF-8 no half of a pair. */
const isSound = (text: string): boolean => text.isWellFormed() && !text.includes("\0");

describe("in a definition", () => {
  test("as values and metadata: the text comes back unchanged, and so does what a run makes of it", async () => {
    const refused = await publishEach(
      // It is an expression, and means what it says.
      NAUGHTY.filter((text) => text !== "${ . }"),
      (texts) => ({
        document: documentOf({ metadata: { texts } }),
        do: [{ one: { set: { texts }, metadata: { texts } } }],
      }),
      async (agent, texts, definition) => {
        expect(agent.definition).toBe(definition);
        const { runAgent } = await server.data(START, { input: { agentId: agent.id, wait: 20 } });
        expect(runAgent.output).toEqual({ texts });
      },
    );
    expect(refused.filter(isSound)).toEqual(["${ broken"]);
  });

  test("as a title and a summary", async () => {
    // The most that a title has room for.
    const titles: string[][] = [[]];
    for (const text of SAID.filter((one) => one.trim() !== "")) {
      if ([...titles.at(-1)!, text].join(" ").length > LIMITS.nameCharacters) titles.push([]);
      titles.at(-1)!.push(text);
    }
    const refused: string[] = [];
    for (const texts of titles) {
      const some = await publishEach(
        texts,
        (of) => ({ document: documentOf({ title: of.join(" "), summary: of.join("\n") }), do: QUIET }),
        (agent, of, definition) =>
          expect(agent).toMatchObject({ definition, name: name(of.join(" ")), description: of.join("\n").trim() }),
      );
      refused.push(...some);
    }
    const isOneLine = (text: string): boolean => !/[\p{Cc}\u2028\u2029]/u.test(text);
    expect(refused.filter((text) => isSound(text) && isOneLine(text) && text.length <= LIMITS.nameCharacters)).toEqual(
      [],
    );
  });

  test("as what a form says: titles, descriptions, choices and defaults", async () => {
    const field = (text: string): object => ({
      type: "string",
      title: text,
      description: text,
      default: text,
      enum: [text, `${text}.`],
    });
    const batches = Array.from({ length: Math.ceil(SAID.length / LIMITS.formFields) }, (_, batch) =>
      SAID.slice(batch * LIMITS.formFields, (batch + 1) * LIMITS.formFields),
    );
    const refused: string[] = [];
    for (const texts of batches) {
      const some = await publishEach(
        texts,
        (of) => ({
          document: documentOf(),
          input: {
            schema: {
              document: {
                type: "object",
                properties: Object.fromEntries(of.map((text, index) => [`f${index}`, field(text)])),
              },
            },
          },
          do: QUIET,
        }),
        ({ inputFields }, of) => {
          expect(inputFields).toEqual(
            of.map((text, index) => ({
              name: `f${index}`,
              title: text,
              description: text,
              default: text,
              choices: [text, `${text}.`].map((value) => ({ value, title: value })),
            })),
          );
        },
      );
      refused.push(...some);
    }
    expect(refused.filter((text) => isSound(text) && text.length < LIMITS.nameCharacters)).toEqual([]);
  });
});

test("in a run's input, as values and as keys: unchanged in the run and its output", async () => {
  const keys = Object.fromEntries(NAUGHTY.filter((text) => text !== "__proto__").map((text, index) => [text, index]));
  const input = { texts: NAUGHTY, keys };
  const { runAgent } = await server.data(START, { input: { agentId: given["agentId"], input, wait: 20 } });
  expect(runAgent).toMatchObject({ status: "completed", input, output: input });
  const { run } = await server.data("query($id: ID!) { run(id: $id) { input output } }", { id: runAgent.id });
  expect(run).toEqual({ input, output: input });
});

test("as idempotency keys: each is another one, and the same again is the same run", async () => {
  const keys = SAID.filter((text) => /^[\x20-\x7e]{1,255}$/.test(text));
  expect(keys.length).toBeGreaterThan(25);
  const startAll = async (): Promise<string[]> => {
    const ids: string[] = [];
    for (let at = 0; at < keys.length; at += AT_ONCE) {
      const some = keys.slice(at, at + AT_ONCE);
      const variables = Object.fromEntries(
        some.map((idempotencyKey, index) => [`i${index}`, { agentId: given["agentId"], idempotencyKey }]),
      );
      const asked = some.map((_, index) => `a${index}: runAgent(input: $i${index}) { id }`);
      const data = await server.data(
        `mutation(${some.map((_, index) => `$i${index}: RunAgentInput!`).join(", ")}) { ${asked.join(" ")} }`,
        variables,
      );
      ids.push(...some.map((_, index) => data[`a${index}`].id as string));
    }
    return ids;
  };
  const ids = await startAll();
  expect(new Set(ids).size).toBe(keys.length);
  expect(await startAll()).toEqual(ids);
});

test("in an approval: the question's answer and the comment come back unchanged", async () => {
  const fields = LIMITS.formFields;
  const properties = Array.from({ length: fields }, (_, index) => `f${index}: {type: string}`).join(", ");
  const agentId = await agentOf(
    server,
    `do:\n- ask: {call: "approval:1.0.0@default", with: {question: Which?, form: {type: object, properties: {${properties}}}}}`,
    "naughty-ask",
  );
  const OPEN = "mutation($input: RunAgentInput!) { runAgent(input: $input) { approvals { nodes { id } } } }";
  const DECIDE = "mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { comment answer } }";
  const decide = async (texts: readonly string[], isWhole: boolean): Promise<void> => {
    const { runAgent } = await server.data(OPEN, { input: { agentId, wait: 20 } });
    const answer = Object.fromEntries(texts.map((text, index) => [`f${index}`, text]));
    const input = {
      approvalId: runAgent.approvals.nodes[0].id,
      decision: "approve",
      comment: texts.join("\n"),
      answer,
    };
    const { data, errors } = await server.graphql(DECIDE, { input });
    if (isWhole) expect(errors).toBeUndefined();
    if (errors) expect(errors[0]!.extensions.code).toBe("BAD_USER_INPUT");
    else expect(data.decideApproval).toEqual({ comment: input.comment, answer });
  };
  const sound = NAUGHTY.filter((text) => isSound(text) && text !== "");
  for (let at = 0; at < sound.length; at += fields) await decide(sound.slice(at, at + fields), true);
  for (const text of NAUGHTY.filter((one) => !sound.includes(one))) await decide([text], false);
});

test("as a secret: it is sent as it was set", async () => {
  const sent: string[] = [];
  const service = createServer((request, response) => {
    sent.push(Buffer.from(request.headers.authorization!.replace(/^Basic /, ""), "base64").toString());
    request.resume();
    response.end();
  }).listen(0, "127.0.0.1");
  await once(service, "listening");
  try {
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    const sound = NAUGHTY.filter(isSound);
    const values = [0, 1, 2, 3].map((part) => sound.filter((_, index) => index % 4 === part).join("\n"));
    const { id: projectId } = (
      await server.data('mutation { createProject(input: {handle: "secret", name: "Secret"}) { id } }')
    ).createProject;
    const SET = "mutation($input: SetSecretInput!) { setSecret(input: $input) { id } }";
    for (const [index, value] of values.entries())
      await server.data(SET, { input: { projectId, name: `s${index}`, value } });
    const definition = JSON.stringify({
      document: { dsl: "1.0.3", namespace: "secret", name: "send", version: "1.0.0" },
      use: { secrets: values.map((_, index) => `s${index}`) },
      do: values.map((_, index) => ({
        [`call${index}`]: {
          call: "http",
          with: {
            method: "get",
            endpoint: { uri: url, authentication: { basic: { username: "u", password: `\${ $secrets.s${index} }` } } },
          },
        },
      })),
    });
    const { publishAgent } = await server.data(PUBLISH, { input: { projectId, definition } });
    const { runAgent } = await server.data(START, { input: { agentId: publishAgent.id, wait: 20 } });
    expect(runAgent.status).toBe("completed");
    expect(sent).toEqual(values.map((value) => `u:${value}`));
  } finally {
    service.close();
    service.closeAllConnections();
  }
});

test("the log has no error", () => {
  expect(server.log()).not.toMatch(/"level":[56]0/);
});
