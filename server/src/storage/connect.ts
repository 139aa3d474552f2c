/** The operator's PostgreSQL behind DATABASE_URL: checked once at start, so that a mistake is one helpful line. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { messageOf, OperatorError } from "../lib/errors.ts";
import type { Log } from "../lib/log/log.ts";
import { openDatabase, type Connection, type Database } from "./database.ts";
import { codeOf } from "./pg-errors.ts";

const OLDEST_MAJOR = 16;
const CONNECT_TIMEOUT_MS = 10_000;
/** Waits this long for a PostgreSQL that starts together with us or recovers. */
const STARTING_UP_MS = 30_000;
const STARTING_UP_POLL_MS = 250;
const POOLER_ROUNDS = 4;

type Pools = { hotConnections?: number; listConnections?: number };

/** Throws OperatorError when it can't be reached, can't be used or is a pooler in transaction mode. */
export async function connectServer(databaseUrl: string, log: Log, pools: Pools = {}): Promise<Database> {
  const connection: Connection = {
    connectionString: checkUrl(databaseUrl),
    keepAlive: true,
    application_name: "autograph",
  };
  const first = await connect(connection, databaseUrl);
  try {
    await checkServer(first, log);
    await checkPooler(first, () => connect(connection, databaseUrl));
  } catch (error) {
    throw error instanceof OperatorError ? error : new OperatorError(`DATABASE_URL: ${messageOf(error)}`);
  } finally {
    await first.end();
  }
  return openDatabase({ connection, isEmbedded: false, log, ...pools });
}

function checkUrl(text: string): string {
  const isWhole = /^postgres(ql)?:\/\//.test(text) && URL.canParse(text) && !/%(?![0-9a-f]{2})/i.test(text);
  if (isWhole) return text;
  throw new OperatorError("DATABASE_URL is not of the form postgres://user:password@host:5432/database");
}

async function connect(connection: Connection, url: string, waitedMs = 0): Promise<pg.Client> {
  const client = new pg.Client({
    ...connection,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
  });
  client.on("error", () => {}); // the query that runs meanwhile reports it
  try {
    await client.connect();
    return client;
  } catch (error) {
    if (codeOf(error) !== "57P03" || waitedMs >= STARTING_UP_MS) throw new OperatorError(sentenceFor(error, url));
    await sleep(STARTING_UP_POLL_MS);
    return connect(connection, url, waitedMs + STARTING_UP_POLL_MS);
  }
}

/** Never contains the password. */
function sentenceFor(error: unknown, url: string): string {
  const { hostname, port, username, pathname, searchParams } = new URL(url);
  const where = searchParams.get("host") ?? `${hostname || "localhost"}:${port || 5432}`;
  const user = decodeURIComponent(username);
  const database = decodeURIComponent(pathname.slice(1)) || user;
  const code = codeOf(error);
  if (code === "28P01" || messageOf(error).startsWith("SASL"))
    return `DATABASE_URL: PostgreSQL at ${where} refuses the password of user "${user}"`;
  if (code === "28000")
    return `DATABASE_URL: PostgreSQL at ${where} lets user "${user}" in from here under other terms only: ${messageOf(error)}`;
  if (code === "3D000") return `DATABASE_URL: PostgreSQL at ${where} has no database "${database}": create it first`;
  if (code === "53300") return `DATABASE_URL: PostgreSQL at ${where} has no connection left: raise its max_connections`;
  return `DATABASE_URL: no PostgreSQL can be reached at ${where} (${code ?? messageOf(error)})`;
}

export type ServerFacts = {
  version: string;
  major: number;
  encoding: string;
  is_standby: boolean;
  fsync: string;
  name: string;
  schema: string | null;
  may_create: boolean | null;
};

async function checkServer(client: pg.Client, log: Log): Promise<void> {
  const { rows } = await client.query<ServerFacts>(`
    select current_setting('server_version') as version, current_setting('server_version_num')::int / 10000 as major,
           current_setting('server_encoding') as encoding, current_setting('fsync') as fsync,
           pg_is_in_recovery() as is_standby, current_user as name, current_schema() as schema,
           has_schema_privilege(current_schema(), 'CREATE') as may_create`);
  const problem = problemWith(rows[0]!);
  if (problem !== undefined) throw new OperatorError(`DATABASE_URL: ${problem}`);
  if (rows[0]!.fsync === "off")
    log.warn("DATABASE_URL: fsync is off there: acknowledged runs may be lost with the machine's power");
}

/** Why this server can't be used, or undefined. */
export function problemWith(server: ServerFacts): string | undefined {
  if (server.major < OLDEST_MAJOR)
    return `PostgreSQL ${server.version} is too old: Autograph needs ${OLDEST_MAJOR} or newer`;
  if (server.is_standby) return "this PostgreSQL is a read-only standby: name its primary";
  if (server.encoding !== "UTF8") return `the database's encoding is ${server.encoding}: create one with encoding UTF8`;
  if (server.may_create) return undefined;
  return `user "${server.name}" may not create tables in schema "${server.schema ?? "public"}"`;
}

/**
 * A pooler in transaction mode gives each transaction any free backend, so session locks, LISTEN and prepared statements
 * are lost. The first connection marks its session; while others keep backends busy in transactions, one after the
 * other, none of them may see the mark and the first must still have it.
 */
async function checkPooler(first: pg.Client, open: () => Promise<pg.Client>): Promise<void> {
  const mark = randomBytes(8).toString("hex");
  const others: pg.Client[] = [];
  try {
    await first.query("select set_config('autograph.mark', $1, false)", [mark]);
    for (let round = 0; round < POOLER_ROUNDS; round++) {
      const other = await open();
      others.push(other);
      await other.query("begin");
      // Before asking the first: a pool of one backend would make it wait forever.
      if ((await markOf(other)) === mark) throw transactionPooler();
      if ((await markOf(first)) !== mark) throw transactionPooler();
    }
  } finally {
    await Promise.all(others.map((other) => other.end()));
  }
}

async function markOf(client: pg.Client): Promise<string | null> {
  const { rows } = await client.query<{ mark: string | null }>(
    "select current_setting('autograph.mark', true) as mark",
  );
  return rows[0]!.mark;
}

const transactionPooler = (): OperatorError =>
  new OperatorError(
    "DATABASE_URL leads through a pooler in transaction mode, which loses locks and prepared statements: name PostgreSQL itself, or a pooler in session mode",
  );
