/**
 * A server for a test, and clients for it. `await using server = await startTestServer()` gives a running one with a
 * signed-in world (an owner, a project, an API key) in a data folder of its own, which goes with it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type Client } from "graphql-ws";
import { WebSocket } from "ws";
import { calmMsByClock, slownessByClock } from "../server/src/lib/processor-time.testsuite.ts";
import type { FieldProblem } from "../server/src/lib/errors.ts";
import type { Scope } from "../server/src/auth/scopes.ts";
import type { Plan, Role } from "../server/src/storage/schema.ts";
import type { Figures } from "./meter.ts";
import { outsideTheLists } from "./closed-lists.ts";
import { ServerProcess, prepare, temporaryFolder } from "./server-process.ts";
import type { World } from "./server.ts";

/** Whatever came: a test's expectations say what they read. */
export type Data = any;
export type ShownError = {
  message: string;
  path?: (string | number)[];
  extensions: { code: string; reason?: string; scope?: string; fields?: FieldProblem[]; retryAfter?: number };
};
export type Answer = { status: number; headers: Headers; data: Data; errors: ShownError[] | undefined };
export type Variables = Record<string, unknown>;

/** Why a test of the embedded PostgreSQL is skipped there. */
export const ON_OPERATORS = "skipped on DATABASE_URL: the PostgreSQL is the operator's";

export type TestServerOptions = {
  /** Settings beside the usual ones. With a `DATABASE_URL` the world is created each time: the database must be empty. */
  env?: Record<string, string>;
  /** Begin with no owner yet. "from nothing": with keys and a name of its own, which copies of one folder have in common. */
  fresh?: boolean | "from nothing";
};

export type TestServer = {
  readonly url: string;
  readonly pid: number;
  readonly dataFolder: string;
  /** Its PostgreSQL is its own. */
  readonly isEmbedded: boolean;
  /** Its PostgreSQL, if that is not its own. */
  readonly databaseUrl: string | undefined;
  readonly setupLink: string | null;
  /** Where it serves its figures, with `METRICS_PORT` among its settings. */
  readonly metricsUrl: string | null;
  /** Its output to stderr so far. */
  log(): string;
  /** Undefined on a fresh one. */
  readonly world: World;
  /** `token` null: no Authorization header; else the world's API key. */
  graphql(query: string, variables?: Variables, token?: string | null): Promise<Answer>;
  /** Fails on any error. */
  data(query: string, variables?: Variables, token?: string | null): Promise<Data>;
  /** A subscription over a WebSocket of its own; each value is a result. */
  watch(query: string, variables?: Variables, token?: string | null): AsyncIterableIterator<Data>;
  webSocket(token?: string | null): Client;
  /** The same over Server-Sent Events. */
  events(query: string, variables?: Variables, token?: string | null): AsyncGenerator<{ event: string; data: Data }>;
  clock: {
    advance(ms: number): Promise<void>;
    set(now: number): Promise<void>;
    now(): Promise<number>;
    /** Forgets every timer that is armed, as no clock should. */
    loseTimers(): Promise<void>;
  };
  setFreeBytes(bytes: number | null): Promise<void>;
  /** Another organization, with an owner, a project and a key. */
  organization(name: string): Promise<World>;
  /** Another member of the world's organization; answers how to sign in. */
  member(email: string, role: Role): Promise<{ email: string; password: string }>;
  /** A member of another organization; who has an account keeps it, and its password. */
  memberOf(world: World, email: string, role: Role): Promise<{ email: string; password: string }>;
  /** Another API key of the world's organization, with these scopes alone. */
  key(scopes: readonly Scope[]): Promise<string>;
  /** Sets an organization's plan; in force within 5 s of its clock. */
  setPlan(organizationId: string, plan: Plan, perMinute?: number): Promise<void>;
  /** The access token of the same session as the web UI gets it. */
  uiToken(token: string): Promise<string>;
  /** The processor time and memory of its process; `collected`: once garbage is gone. */
  measure(collected?: boolean): Promise<Figures>;
  /** How many times slower its main thread is now than where the bounds were set. */
  slowness(): Promise<number>;
  /** `kill -9`; PostgreSQL stays. */
  kill(): Promise<void>;
  /** Its exit code when it has ended, null after a signal. */
  ended(): Promise<number | null>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** After `kill` or `stop`: on the same port and data folder. */
  restart(env?: Record<string, string>): Promise<void>;
} & AsyncDisposable;

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const server = new ServerProcess(temporaryFolder(), options.env ?? {});
  const world = await prepare(server, options.fresh);
  await server.start();
  const hasWorld = world !== undefined || options.fresh;
  return clientsOf(server, hasWorld ? world! : await server.command({ command: "organization", name: "first" }));
}

export function clientsOf(server: ServerProcess, world: World): TestServer {
  const tokenOf = (token: string | null | undefined): string | null =>
    token === undefined ? (world?.apiKey ?? null) : token;
  const endpoint = (): string => `${server.started.url}/graphql`;
  const graphql: TestServer["graphql"] = (query, variables, token) =>
    post(endpoint(), query, variables, tokenOf(token));
  const webSocket = (token?: string | null): Client => connect(endpoint(), tokenOf(token));
  return {
    get url() {
      return server.started.url;
    },
    get pid() {
      return server.pid;
    },
    get dataFolder() {
      return server.started.dataFolder;
    },
    isEmbedded: server.databaseUrl === undefined,
    databaseUrl: server.databaseUrl,
    get setupLink() {
      return server.started.setupLink;
    },
    get metricsUrl() {
      return server.started.metricsUrl;
    },
    log: server.log,
    world,
    graphql,
    data: async (query, variables, token) => {
      const { data, errors } = await graphql(query, variables, token);
      if (errors) throw new Error(`${JSON.stringify(errors)}\n${server.log()}`);
      return data;
    },
    webSocket,
    watch: (query, variables, token) => watch(webSocket(token), query, variables),
    events: (query, variables, token) => events(endpoint(), query, variables, tokenOf(token)),
    clock: {
      advance: async (ms) => void (await server.command({ command: "advance", ms })),
      set: async (now) => void (await server.command({ command: "setNow", now })),
      now: async () => (await server.command({ command: "now" })).now,
      loseTimers: async () => void (await server.command({ command: "loseTimers" })),
    },
    setFreeBytes: async (bytes) => void (await server.command({ command: "freeBytes", bytes })),
    organization: (name) => server.command({ command: "organization", name }),
    member: (email, role) => server.command({ command: "member", organizationId: world.organizationId, email, role }),
    memberOf: ({ organizationId }, email, role) => server.command({ command: "member", organizationId, email, role }),
    key: (scopes) => server.command({ command: "key", organizationId: world.organizationId, scopes: [...scopes] }),
    setPlan: async (organizationId, plan, perMinute) =>
      void (await server.command({ command: "plan", organizationId, plan, ...(perMinute && { perMinute }) })),
    uiToken: (token) => server.command({ command: "uiToken", token }),
    slowness: () => server.command({ command: "slowness" }),
    measure: (collected = false) => server.command({ command: "measure", collected }),
    kill: async () => void (await server.signal("SIGKILL")),
    ended: () => server.ended,
    stop: () => server.signal("SIGTERM"),
    restart: (env) => server.start(env),
    [Symbol.asyncDispose]: () => server.dispose(),
  };
}

const authorization = (token: string | null): Record<string, string> =>
  token === null ? {} : { authorization: `Bearer ${token}` };

export async function post(
  url: string,
  query: string,
  variables: Variables | undefined,
  token: string | null,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...authorization(token), ...headers },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data: Data; errors?: ShownError[] };
  checked(query, { errors });
  return { status: response.status, headers: response.headers, data, errors };
}

function checked(query: string, result: Data): Data {
  const outside = (result.errors ?? []).flatMap(({ extensions }: ShownError) => outsideTheLists(extensions));
  if (outside.length > 0) throw new Error(`${query} was answered with ${outside.join(", ")}`);
  return result;
}

/** No retries: a test wants to see the socket close. */
export const connect = (url: string, token: string | null): Client =>
  createClient({
    url: url.replace(/^http/, "ws"),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: true,
    onNonLazyError: () => {},
    connectionParams: token === null ? {} : { Authorization: `Bearer ${token}` },
  });

async function* watch(client: Client, query: string, variables: Variables = {}): AsyncGenerator<Data> {
  try {
    for await (const result of client.iterate({ query, variables })) yield checked(query, result);
  } finally {
    await client.dispose();
  }
}

async function* events(
  url: string,
  query: string,
  variables: Variables | undefined,
  token: string | null,
): AsyncGenerator<{ event: string; data: Data }> {
  const ending = new AbortController();
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream", ...authorization(token) },
    body: JSON.stringify({ query, variables }),
    signal: ending.signal,
  });
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    throw new Error(`no event stream: ${response.status} ${await response.text()}`);
  }
  let text = "";
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const blocks = text.split("\n\n");
      text = blocks.pop()!;
      for (const block of blocks) {
        const event = /^event: (.*)$/m.exec(block)?.[1];
        const data = /^data: ?(.*)$/m.exec(block)?.[1];
        if (event !== undefined) yield { event, data: data ? checked(query, JSON.parse(data)) : null };
      }
    }
  } finally {
    ending.abort();
  }
}

/** ms between two looks: the longer something takes, the less often it is looked at. It is seen an eighth too late at most. */
const pauseAfter = (waitedMs: number): number => Math.min(250, Math.max(20, waitedMs / 8));

/** Polls until `look` answers something truthy. `timeoutMs` is of the machine where bounds were set: a slower one has longer. */
export async function eventually<Value>(
  look: () => Promise<Value> | Value,
  timeoutMs = 60_000,
): Promise<NonNullable<Value>> {
  const since = Date.now();
  let deadlineMs = timeoutMs;
  for (;;) {
    const value = await look();
    if (value) return value;
    const waitedMs = Date.now() - since;
    if (waitedMs > deadlineMs) deadlineMs = timeoutMs * slownessByClock();
    if (waitedMs > deadlineMs) throw new Error(`not within ${timeoutMs} ms: ${String(look)}`);
    await sleep(pauseAfter(waitedMs));
  }
}

/** How long `work` takes, ms: the shortest of up to five times. What other processes of the machine delay does not count. */
export async function shortest(mostMs: number, work: () => Promise<unknown>): Promise<number> {
  let least = Infinity;
  for (let time = 0; time < 5 && least >= mostMs; time++) {
    const since = performance.now();
    await work();
    least = Math.min(least, calmMsByClock(performance.now() - since, mostMs));
  }
  return least;
}
