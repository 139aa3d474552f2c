/** Two server processes on one `DATABASE_URL`: one executes, the other serves and stands by. */
import type pg from "pg";
import { eventually, startTestServer, type TestServer } from "../client.ts";
import { sharedPostgres } from "../postgres.ts";
import { startSink, type Sink } from "../sink.ts";
import { askedAs } from "./asked-as.ts";
import { connectTo, installAudit } from "./audit.ts";
import { startProxy, type Proxy } from "./proxy.ts";

export type Pair = {
  /** Executes until something happens to it; made the world; reaches the database through the proxy. */
  a: TestServer;
  b: TestServer;
  /** The world's API key, which both know. */
  token: string;
  sink: Sink;
  /** The test's own connection; the audit is installed. */
  client: pg.Client;
  proxy: Proxy;
} & AsyncDisposable;

/** Whatever a server writes is written down under its name, `a` or `b`. */
export async function startPair(env: Record<string, string> = {}): Promise<Pair> {
  await using stack = new AsyncDisposableStack();
  const sink = stack.use(await startSink());
  const url = await stack.use(await sharedPostgres()).createMigrated();
  const proxy = stack.use(await startProxy(url));
  const settings = (name: string, reached: string): Record<string, string> => ({
    DATABASE_URL: `${reached}?application_name=${name}`,
    SECRET_KEY: SECRET_KEY,
    OUTBOUND_ALLOW: "127.0.0.1/32",
    ...env,
  });
  const a = stack.use(await startTestServer({ env: settings("a", proxy.url) }));
  const client = await connectTo(a, url);
  stack.defer(() => client.end());
  await installAudit(client);
  const b = stack.use(await startTestServer({ env: settings("b", url), fresh: true }));
  const opened = stack.move();
  return {
    a,
    b,
    token: a.world.apiKey,
    sink,
    client,
    proxy,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const SECRET_KEY = Buffer.alloc(32, 7).toString("base64");

/** One of the two; asked with the key that both know. */
export type Named = ReturnType<typeof askedAs> & { name: "a" | "b"; server: TestServer };

/** Who executes, by the name of the connection that holds the lock, and who stands by. */
export async function rolesOf({ a, b, client }: Pair): Promise<{ executor: Named; standby: Named }> {
  const name = await eventually(() => executorOf(client));
  const both: [Named, Named] = [
    { ...askedAs(a, a.world), name: "a", server: a },
    { ...askedAs(b, a.world), name: "b", server: b },
  ];
  const [executor, standby] = name === "a" ? both : (both.toReversed() as [Named, Named]);
  return { executor, standby };
}

async function executorOf(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query(
    "select application_name as name from executor join pg_stat_activity on pid = backend_pid",
  );
  return rows[0]?.name;
}

/** Until this one executes; answers after how long, ms. */
export async function untilExecuting(client: pg.Client, name: string, timeoutMs = 60_000): Promise<number> {
  const since = performance.now();
  await eventually(async () => (await executorOf(client)) === name, timeoutMs);
  return performance.now() - since;
}

/** Lets this one execute: on a machine that held it up for seconds, the other has taken over. */
export async function makeExecutor(pair: Pair, name: Named["name"]): Promise<void> {
  const { executor } = await rolesOf(pair);
  if (executor.name === name) return;
  await executor.server.stop();
  await untilExecuting(pair.client, name);
  await executor.server.restart();
}

/** How many connections listen for what the other process tells. */
export async function listenersOf({ client }: Pick<Pair, "client">): Promise<number> {
  const { rows } = await client.query(
    "select count(*)::int as count from pg_stat_activity where query = 'listen autograph' and datname = current_database()",
  );
  return rows[0].count;
}

export const START = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }";

/** Starts a run at this one of the two; answers its id. */
export const startAt = async (at: Pick<Named, "data">, agentId: string, more: object = {}): Promise<string> =>
  (await at.data(START, { input: { agentId, ...more } })).runAgent.id;

/** A task that posts to the sink, as YAML for a list of tasks. */
export const callTask = (sink: Sink, behaviour: string, name = "post"): string =>
  `{${name}: {call: http, with: {method: post, endpoint: '${sink.url}${behaviour}', query: {run: '\${ $workflow.id }', step: ${name}}}}}`;
