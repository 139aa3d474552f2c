/** Two server processes on one `DATABASE_URL`: the first executes, the second serves and stands by. */
import type pg from "pg";
import { eventually, startTestServer, type TestServer } from "../client.ts";
import { startTestPostgres } from "../postgres.ts";
import { startSink, type Sink } from "../sink.ts";
import { connectTo, installAudit } from "./audit.ts";

export type Pair = {
  /** Executes until something happens to it; made the world. */
  a: TestServer;
  b: TestServer;
  /** The world's API key, which both know. */
  token: string;
  sink: Sink;
  /** Of the test itself; the audit is installed. */
  client: pg.Client;
  databaseUrl: string;
} & AsyncDisposable;

/** Whatever a server writes is written down under its name, `a` or `b`. */
export async function startPair(env: Record<string, string> = {}): Promise<Pair> {
  await using stack = new AsyncDisposableStack();
  const sink = stack.use(await startSink());
  const postgres = stack.use(await startTestPostgres());
  const settings = (name: string): Record<string, string> => ({
    DATABASE_URL: `${postgres.url}?application_name=${name}`,
    SECRET_KEY: SECRET_KEY,
    OUTBOUND_ALLOW: "127.0.0.1/32",
    ...env,
  });
  const a = stack.use(await startTestServer({ env: settings("a") }));
  const client = await connectTo(a, postgres.url);
  stack.defer(() => client.end());
  await installAudit(client);
  const b = stack.use(await startTestServer({ env: settings("b"), fresh: true }));
  const opened = stack.move();
  return {
    a,
    b,
    token: a.world.apiKey,
    sink,
    client,
    databaseUrl: postgres.url,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const SECRET_KEY = Buffer.alloc(32, 7).toString("base64");

/** The name under which the executor's connection runs. */
export async function executorOf(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query(
    "select application_name as name from executor join pg_stat_activity on pid = backend_pid",
  );
  return rows[0]?.name;
}

/** Until this one executes; answers after how long, ms. */
export async function untilExecuting(client: pg.Client, name: string, timeoutMs = 20_000): Promise<number> {
  const since = performance.now();
  await eventually(async () => (await executorOf(client)) === name, timeoutMs);
  return performance.now() - since;
}
