/**
 * Limits at their edge, over the real wire: each lets its maximum pass, and refuses one more with a sentence that says the
 * maximum. `server/src/lib/limits/` names the test that holds each of the others.
 */
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { decodeId, encodeId, newId } from "../server/src/lib/ids.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish } from "./agents.ts";
import { type Answer, type Data } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import { chunk, connect, head } from "./raw.ts";
import { agentOf, answered, ran } from "./runs.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

type Limit = keyof typeof LIMITS;
type Refused = { code: string; message: string };
/** Sends something of this size. What it was refused with, if it was. */
type Ask = (size: number) => Promise<Refused | undefined>;
type Edges = Partial<Record<Limit, { ask: Ask; code: string; says?: string }>>;

let server: SharedServer;
let echo: string;
beforeAll(async () => {
  server = await sharedServer();
  echo = await publish(server, "echo");
});
afterAll(() => server[Symbol.asyncDispose]());

function holdEdges(edges: Edges): void {
  test.each(Object.entries(edges))("%s", async (name, { ask, code, says }) => {
    const most = LIMITS[name as Limit];
    expect(await ask(most), "the maximum").toBeUndefined();
    expect(await ask(most + 1), "one more").toEqual({ code, message: expect.stringContaining(says ?? String(most)) });
  });
}

/** `known`: the code with which the server goes on where nothing has to be there. */
function refusalOf({ errors }: Answer, known?: string): Refused | undefined {
  const [error] = errors ?? [];
  if (!error || error.extensions.code === known) return undefined;
  return { code: error.extensions.code, message: error.message };
}

const asked = async (query: string, variables = {}, token?: string | null): Promise<Refused | undefined> =>
  refusalOf(await server.graphql(query, variables, token));
/** Where the ids are made up, and looked for only if there are not too many. */
const askedOfNobody = async (query: string, variables: Record<string, unknown>): Promise<Refused | undefined> =>
  refusalOf(await server.graphql(query, variables), "NOT_FOUND");

const repeat = (count: number, text: (index: number) => string, between = " "): string =>
  Array.from({ length: count }, (_, index) => text(index)).join(between);
const nested = (levels: number, inner = ""): string => `${"[".repeat(levels)}${inner}${"]".repeat(levels)}`;
const ids = (count: number): string[] => Array.from({ length: count }, () => encodeId("run", newId()));

describe("a request's bytes", () => {
  const me = '{"query":"{ __typename }"}';
  const padded = (bytes: number): string => `${me.slice(0, -1)}${" ".repeat(bytes - me.length)}}`;

  async function sent(text: string): Promise<Refused | undefined> {
    using raw = await connect(server);
    raw.write(text);
    await raw.closed;
    const { data, errors } = JSON.parse(raw.got().split("\r\n\r\n")[1]!) as Answer;
    return data ? undefined : refusalOf({ data, errors } as Answer);
  }
  const CLOSE = "connection: close\r\n";
  const sentNumber = (number: string): Promise<Refused | undefined> => {
    const body = `${me.slice(0, -1)},"variables":{"a":[${number}]}}`;
    return sent(head(body.length, server.world.apiKey, CLOSE) + body);
  };

  holdEdges({
    bodyBytes: {
      ask: (bytes) => sent(head(bytes, server.world.apiKey, CLOSE) + padded(bytes)),
      code: "REQUEST_ENTITY_TOO_LARGE",
    },
    strangerBodyBytes: {
      ask: (bytes) => sent(head(bytes, undefined, CLOSE) + padded(bytes)),
      code: "REQUEST_ENTITY_TOO_LARGE",
    },
    bodyPieces: {
      // 2,560 bytes may have five of them more.
      ask: (pieces) => {
        const ones = pieces + 4;
        const first = padded(2_560 - ones);
        const start = `${head("chunked", server.world.apiKey, CLOSE)}${first.length.toString(16)}\r\n${first}\r\n`;
        return sent(`${start}${chunk(1).repeat(ones)}0\r\n\r\n`);
      },
      code: "REQUEST_ENTITY_TOO_LARGE",
    },
    headersPerRequest: {
      ask: (count) => sent(head(me.length, undefined, CLOSE + repeat(count - 4, (at) => `a${at}: b\r\n`, "")) + me),
      code: "BAD_REQUEST",
    },
    numberDigits: { ask: (digits) => sentNumber("9".repeat(digits)), code: "BAD_REQUEST" },
    numberExponent: { ask: (exponent) => sentNumber(`1e-${exponent}`), code: "BAD_REQUEST" },
    jsonNesting: {
      ask: async (levels) =>
        refusalOf(await server.graphql("{ __typename }", { a: JSON.parse(nested(levels - 2)) as unknown })),
      code: "BAD_REQUEST",
    },
    jsonSteps: {
      // The body, its `query` and `variables`, `a` and its list.
      ask: (steps) => asked("{ __typename }", { a: Array.from({ length: steps - 28 }, () => []) }),
      code: "BAD_REQUEST",
    },
  });

  // Node counts names and values, and not what stands between them.
  test("headerBytes", async () => {
    const most = LIMITS.headerBytes;
    const large = (bytes: number) => sent(head(me.length, undefined, `${CLOSE}a: ${"a".repeat(bytes)}\r\n`) + me);
    expect(await large(most - 200)).toBeUndefined();
    expect(await large(most)).toEqual({ code: "BAD_REQUEST", message: expect.stringContaining(String(most)) });
  });
});

describe("a document", () => {
  const padded = (query: string, characters: number): string => `${query}#`.padEnd(characters, "x");
  const tokens = (count: number): string =>
    `mutation { runAgent(input: {agentId: "${echo}", input: {a: [${repeat(count - 24, () => "1")}]}}) { id } }`;

  holdEdges({
    queryCharacters: { ask: (count) => asked(padded("{ __typename }", count)), code: "QUERY_TOO_COMPLEX" },
    strangerQueryCharacters: {
      ask: (count) => asked(padded("{ __typename }", count), {}, null),
      code: "UNAUTHENTICATED",
    },
    queryTokens: { ask: (count) => asked(tokens(count)), code: "QUERY_TOO_COMPLEX" },
    queryComplexity: {
      ask: (objects) =>
        asked(
          `{ runs(first: 100) { nodes { steps(first: 99) { number } } } ${objects > LIMITS.queryComplexity ? "me { id }" : ""} }`,
        ),
      code: "QUERY_TOO_COMPLEX",
    },
    queryValues: {
      // A hundred runs with a list and 83 steps of six values each.
      ask: (values) =>
        asked(
          `{ runs(first: 100) { nodes { steps(first: 83) { number name kind status startedAt } } } ${values > LIMITS.queryValues ? "__typename" : ""} }`,
        ),
      code: "QUERY_TOO_COMPLEX",
    },
  });
});

describe("an argument", () => {
  const RUN = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  const start = (more: object): Promise<Refused | undefined> => asked(RUN, { input: { agentId: echo, ...more } });
  /** A password that is not common. */
  const letters = (count: number): string => "zy".repeat(count).slice(0, count);
  const accept = async (password: string): Promise<Refused | undefined> => {
    const { inviteMember } = await server.data("mutation { inviteMember(input: {role: viewer}) { url } }");
    const input = {
      token: inviteMember.url.split("#invitation=")[1],
      name: "Ada",
      email: `ada${newId()}@example.org`,
      password,
    };
    return asked(
      "mutation($input: AcceptInvitationInput!) { acceptInvitation(input: $input) { expiresAt } }",
      { input },
      null,
    );
  };

  holdEdges({
    inputBytes: { ask: (bytes) => start({ input: { a: "x".repeat(bytes - 8) } }), code: "BAD_USER_INPUT" },
    idempotencyKeyCharacters: {
      ask: (count) => start({ idempotencyKey: "k".repeat(count) }),
      code: "BAD_USER_INPUT",
    },
    waitSeconds: { ask: (wait) => start({ wait }), code: "BAD_USER_INPUT" },
    pageSize: { ask: (first) => asked(`{ runs(first: ${first}) { nodes { id } } }`), code: "BAD_USER_INPUT" },
    waitsListed: {
      ask: async (first) => {
        const { id } = await ran(server, echo);
        return asked(`{ run(id: "${id}") { waitingFor(first: ${first}) { stepNumber } } }`);
      },
      code: "BAD_USER_INPUT",
    },
    argumentItems: {
      ask: (count) =>
        asked("query($filter: RunFilter!) { runs(first: 1, filter: $filter) { nodes { id } } }", {
          filter: { agentId: Array.from({ length: count }, () => echo) },
        }),
      code: "BAD_USER_INPUT",
    },
    runIdsToCancel: {
      ask: (count) =>
        askedOfNobody("mutation($input: CancelRunsInput!) { cancelRuns(input: $input) { cancelledCount } }", {
          input: { runs: { runIds: ids(count) } },
        }),
      code: "BAD_USER_INPUT",
    },
    nameCharacters: {
      ask: (count) =>
        asked('mutation($name: String!) { createApiKey(input: {name: $name, scopes: ["runs:read"]}) { id } }', {
          name: "n".repeat(count),
        }),
      code: "BAD_USER_INPUT",
    },
    handleCharacters: {
      ask: (count) =>
        asked('mutation($handle: String!) { createProject(input: {handle: $handle, name: "P"}) { id } }', {
          handle: "h".repeat(count),
        }),
      code: "BAD_USER_INPUT",
    },
    emailCharacters: {
      ask: (count) =>
        asked("mutation($email: String!) { inviteMember(input: {role: viewer, email: $email}) { id } }", {
          email: `ada@${"e".repeat(count - 4)}`,
        }),
      code: "BAD_USER_INPUT",
    },
    identifierCharacters: {
      ask: (count) =>
        asked("mutation($input: SetSecretInput!) { setSecret(input: $input) { id } }", {
          input: { projectId: server.world.projectId, name: "s".repeat(count), value: "v" },
        }),
      code: "BAD_USER_INPUT",
    },
    credentialCharacters: {
      ask: async (count) => {
        const refusal = await asked("{ __typename }", {}, "x".repeat(count - "Bearer ".length));
        // It is read, and is none.
        return refusal?.message.startsWith("this is neither an API key") ? undefined : refusal;
      },
      code: "UNAUTHENTICATED",
    },
    passwordCharactersMost: { ask: (count) => accept(letters(count)), code: "BAD_USER_INPUT" },
    secretBytes: {
      ask: (bytes) =>
        asked("mutation($input: SetSecretInput!) { setSecret(input: $input) { id } }", {
          input: { projectId: server.world.projectId, name: "large", value: "x".repeat(bytes) },
        }),
      code: "BAD_USER_INPUT",
    },
  });

  test("passwordCharactersLeast", async () => {
    const least = LIMITS.passwordCharactersLeast;
    expect(await accept(letters(least))).toBeUndefined();
    expect(await accept(letters(least - 1))).toEqual({
      code: "BAD_USER_INPUT",
      message: expect.stringContaining(`at least ${least} characters`),
    });
  });
});

describe("a definition", () => {
  const HEAD = "document: {dsl: '1.0.3', namespace: test, name: edge, version: '1.0.0'}\n";
  const ONE = "do: [{one: {set: {a: 1}}}]";
  const VALIDATE =
    "query($definition: String!) { validateDefinition(definition: $definition) { problems { message severity } } }";
  const said = async (text: string, version = "1.0.0"): Promise<Refused | undefined> => {
    const definition = HEAD.replace("1.0.0", version) + text;
    const { problems } = (await server.data(VALIDATE, { definition })).validateDefinition;
    // Secrets that are not set are warned of.
    const error = problems.find(({ severity }: Data) => severity === "error");
    return error && { code: "a problem", message: error.message };
  };
  const of = (text: (size: number) => string, says?: string) => ({
    ask: (size: number) => said(text(size)),
    code: "a problem",
    ...(says === undefined ? {} : { says }),
  });
  const expression = (text: string): string => `do: [{one: {set: {a: '\${ ${text} }'}}}]`;
  const token = (fields: string): string =>
    `use: {authentications: {a: {oauth2: {${fields}, grant: client_credentials, client: {id: a, secret: b}}}}}\n${ONE}`;
  const form = (properties: string): string =>
    `input: {schema: {document: {type: object, properties: {${properties}}}}}\n${ONE}`;

  const assistant = (more: string): string =>
    `do: [{a: {call: 'assistant:1.0.0@default', with: {prompt: Hi, ${more}}}}]`;
  const tools = (tool: string): string => assistant(`tools: [${tool}]`);
  const mcpTools = (names: string[]): string =>
    `{mcp: {endpoint: 'https://example.com', allow: [${names.join(", ")}]}}`;
  const httpTool = (name: string): string =>
    `{name: ${name}, description: D, parameters: {type: object}, call: {method: get, endpoint: 'https://example.com'}}`;

  holdEdges({
    definitionBytes: of((bytes) => `${ONE}\n#`.padEnd(bytes - HEAD.length, "x"), "256 KiB"),
    definitionNesting: of(
      (levels) => `do: ${"[{d: {do: ".repeat(levels - 1)}[{x: {set: {a: 1}}}]${"}}]".repeat(levels - 1)}`,
    ),
    definitionExpressions: of(
      (count) => `do: [{one: {set: {${repeat(count, (at) => `k${at}: '\${.a${at}}'`, ", ")}}}}]`,
    ),
    definitionExpressionCharacters: of((count) => {
      const sizes = [15_000, 15_000, 15_000, 15_000, count - 60_000 - 15];
      return `do: [{one: {set: {${repeat(5, (at) => `k${at}: '\${${`"${at}`.padEnd(sizes[at]! - 1, "x")}"}'`, ", ")}}}}]`;
    }),
    expressionCharacters: of((count) => expression(`"${"x".repeat(count - 2)}"`)),
    expressionNesting: of((levels) => expression(nested(levels - 1, "1"))),
    expressionOperators: of((count) => expression(`1${"+1".repeat(count)}`)),
    taskNameCharacters: of((count) => `do: [{${"t".repeat(count)}: {set: {a: 1}}}]`),
    authorityCharacters: of((count) => token(`authority: '${"https://example.com".padEnd(count, "/")}'`)),
    tokenPathCharacters: of((count) =>
      token(`authority: 'https://example.com', endpoints: {token: '${"/".padEnd(count, "x")}'}`),
    ),
    descriptionCharacters: of((count) => form(`a: {type: string, description: ${"d".repeat(count)}}`)),
    fieldNameCharacters: of((count) => form(`${"f".repeat(count)}: {type: string}`)),
    versionCharacters: {
      ask: (count) => said(ONE, `1.0.0-${"v".repeat(count - 6)}`),
      code: "a problem",
    },
    formFields: of((count) => form(repeat(count, (at) => `f${at}: {type: string}`, ", "))),
    formChoices: of((count) => form(`a: {type: string, enum: [${repeat(count, (at) => `c${at}`, ", ")}]}`)),
    forkBranches: of(
      (count) => `do: [{all: {fork: {branches: [${repeat(count, (at) => `{b${at}: {set: {a: 1}}}`, ", ")}]}}}]`,
    ),
    eachConcurrency: of(
      (count) =>
        `do: [{all: {call: 'each:1.0.0@default', with: {in: '\${ [1] }', concurrency: ${count}, do: [{x: {set: {a: 1}}}]}}}]`,
    ),
    modelMessages: of(
      (count) =>
        `do: [{a: {call: 'llm:1.0.0@default', with: {messages: [${repeat(count, () => "{role: user, content: Hi}", ", ")}]}}}]`,
    ),
    modelFiles: of(
      (count) =>
        `do: [{a: {call: 'llm:1.0.0@default', with: {prompt: Hi, files: [${repeat(count, () => "'data:,x'", ", ")}]}}}]`,
    ),
    modelAnswerTokens: of((count) => `do: [{a: {call: 'llm:1.0.0@default', with: {prompt: Hi, maxTokens: ${count}}}}]`),
    modelToolNameCharacters: of((characters) => tools(`{http: ${httpTool("n".repeat(characters))}}`)),
    mcpServerToolNameCharacters: of((characters) => tools(mcpTools(["n".repeat(characters)]))),
    assistantTools: of((count) => tools(mcpTools(Array.from({ length: count }, (_, at) => `t${at}`)))),
    assistantIterations: of((count) => assistant(`limits: {iterations: ${count}}`)),
    assistantToolCalls: of((count) => assistant(`limits: {toolCalls: ${count}}`)),
    assistantTokens: of((count) => assistant(`limits: {tokens: ${count}}`)),
    assistantSeconds: of((seconds) => assistant(`limits: {seconds: ${seconds}}`)),
    attemptsPerStep: of(
      (count) =>
        `do: [{t: {try: [{x: {set: {a: 1}}}], catch: {retry: {delay: PT1S, limit: {attempt: {count: ${count}}}}}}}]`,
    ),
    secretsPerDefinition: of((count) => `use: {secrets: [${repeat(count, (at) => `s${at}`, ", ")}]}\n${ONE}`),
    functionsPerDefinition: of((n) => `use: {functions: {${repeat(n, (at) => `f${at}: {wait: P1D}`, ", ")}}}\n${ONE}`),
    runtimeDays: of((days) => `do: [{pause: {wait: {days: ${days}}}}]`),
  });

  test("definitionProblems", async () => {
    const problems = async (count: number): Promise<number> =>
      (await server.data(VALIDATE, { definition: `${HEAD}do: [${repeat(count, (at) => `{t${at}: {sit: 1}}`, ", ")}]` }))
        .validateDefinition.problems.length;
    const most = LIMITS.definitionProblems;
    expect([await problems(most), await problems(most + 1)]).toEqual([most, most]);
  });
});

describe("a run", () => {
  holdEdges({
    outputBytes: {
      ask: async (bytes) => {
        // Twice the input's text, and as JSON.
        const text = "x".repeat(Math.floor((bytes - 8) / 2));
        const odd = (bytes - 8) % 2 === 1 ? ' + "x"' : "";
        const agentId = await agentOf(server, `do: [{twice: {set: {a: '\${ .text + .text${odd} }'}}}]`);
        const run = await answered(server, "error { type detail }", { agentId, input: { text } });
        if (run.status === "completed") return undefined;
        return { code: run.error.type.split("/").at(-1), message: run.error.detail };
      },
      code: "expression",
    },
  });
});

describe("a WebSocket", () => {
  async function open(init: object = {}): Promise<{ socket: WebSocket; got: string[]; closed: Promise<string> }> {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    const got: string[] = [];
    const closed = new Promise<string>((resolve) =>
      socket.on("close", (code, why) => resolve(`${code} ${String(why)}`)),
    );
    socket.on("message", (data) => got.push(String(data))).on("error", () => {});
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "connection_init", ...init }));
    await Promise.race([closed, once(socket, "message")]);
    return { socket, got, closed };
  }
  /** Undefined when it is answered. */
  const refused = async (socket: WebSocket, closed: Promise<string>): Promise<Refused | undefined> => {
    const why = await Promise.race([closed, once(socket, "message").then(() => undefined)]);
    socket.terminate();
    return why === undefined ? undefined : { code: why.slice(0, 4), message: why.slice(5) };
  };

  holdEdges({
    connectionInitCharacters: {
      ask: async (characters) => {
        const least = JSON.stringify({ type: "connection_init", payload: { x: "" } }).length;
        const { socket, got, closed } = await open({ payload: { x: "x".repeat(characters - least) } });
        if (got.length === 0) return refused(socket, closed);
        socket.terminate();
        return undefined;
      },
      code: "4400",
    },
    operationIdCharacters: {
      ask: async (characters) => {
        const { socket, closed } = await open();
        const payload = { query: "{ __typename }" };
        socket.send(JSON.stringify({ type: "subscribe", id: "i".repeat(characters), payload }));
        return refused(socket, closed);
      },
      code: "4400",
    },
    fragmentsPerMessage: {
      ask: async (count) => {
        const { socket, closed } = await open();
        const text = '{"type":"ping"}'.padEnd(count);
        for (let at = 0; at < count; at++) socket.send(text[at]!, { fin: at === count - 1 });
        return refused(socket, closed);
      },
      // The library closes it, and gives no reason.
      code: "1008",
      says: "",
    },
  });
});

describe("a list", () => {
  test("membershipsListed", async () => {
    const most = LIMITS.membershipsListed;
    const { email, password, organizationId } = await server.organization("joiner");
    const { login } = await server.data(
      "mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }",
      { email, password },
      null,
    );
    const listed = async (): Promise<number> =>
      (await server.data("{ caller { memberships { role } } }", {}, login.accessToken)).caller.memberships.length;
    const client = await connectTo(server);
    const join = (count: number): Promise<unknown> =>
      client.query(
        `with made as (insert into organizations (id, name, plan, created_at)
           select gen_random_uuid(), 'joined', 'free', now() from generate_series(1, $2::int) returning id)
         insert into members (organization_id, user_id, role, created_at)
         select made.id, m.user_id, 'viewer', now() from made, members m where m.organization_id = $1`,
        [decodeId("organization", organizationId), count],
      );
    await join(most - 1);
    expect(await listed()).toBe(most);
    await join(1);
    expect(await listed()).toBe(most);
    await client.end();
  });

  test("secretUsersListed", async () => {
    const most = LIMITS.secretUsersListed;
    const { projectId, organizationId } = server.world;
    const agentId = await agentOf(server, "use: {secrets: [shared]}\ndo: [{one: {set: {a: 1}}}]", "uses-it");
    await server.data("mutation($input: SetSecretInput!) { setSecret(input: $input) { id } }", {
      input: { projectId, name: "shared", value: "v" },
    });
    const client = await connectTo(server);
    const copy = (count: number): Promise<unknown> =>
      client.query(
        `with made as (
           insert into agents (organization_id, id, project_id, handle, name, status, published_version, created_at, updated_at)
           select organization_id, gen_random_uuid(), project_id, handle || gen_random_uuid(), name, status, published_version,
                  created_at, updated_at from agents, generate_series(1, $3::int) where organization_id = $1 and id = $2
           returning id)
         insert into agent_versions
         select (jsonb_populate_record(v, jsonb_build_object('agent_id', made.id, 'id', gen_random_uuid()))).*
           from made, agent_versions v where v.organization_id = $1 and v.agent_id = $2`,
        [decodeId("organization", organizationId), decodeId("agent", agentId), count],
      );
    const users = async (): Promise<number> => {
      const { secrets } = await server.data(
        "query($id: ID!) { secrets(projectId: $id) { nodes { name usedBy { id } } } }",
        { id: projectId },
      );
      return secrets.nodes.find(({ name }: Data) => name === "shared").usedBy.length;
    };
    await copy(most - 1);
    expect(await users()).toBe(most);
    await copy(1);
    expect(await users()).toBe(most);
    await client.end();
  });

  test("attemptsListed", async () => {
    const attempts = LIMITS.attemptsListed;
    const again = await agentOf(
      server,
      `do: [{again: {try: [{x: {raise: {error: {type: 'https://example.org/x', status: 500}}}}], catch: {when: '\${ true }', retry: {limit: {attempt: {count: ${attempts + 1}}}}, do: [{fine: {set: {a: 1}}}]}}}]`,
    );
    const { id } = await ran(server, again);
    const listed = "steps(first: 2) { all: attempts(first: 200) { number } attempts { number } }";
    const { run } = await server.data(`{ run(id: "${id}") { ${listed} } }`);
    expect(run.steps[1].all.length).toBeGreaterThan(attempts);
    expect(run.steps[1].attempts).toHaveLength(attempts);
  });
});
