/**
 * The database handle. Three pools: the hot path's few named statements keep generic plans in their own connections
 * (planning them again costs more than running them); lists are planned with their values; large writes keep out of the
 * way of both.
 */
import pg from "pg";
import type { Backlog } from "../fairness/backlog.ts";
import { messageOf, stopping } from "../lib/errors.ts";
import { parseStored } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Log } from "../lib/log/log.ts";
import { parseTime, TIMESTAMPTZ_OID } from "./parse-time.ts";
import { codeOf } from "./pg-errors.ts";
import { MeasuredPool } from "./measured-pool.ts";
import { createPoolTurns, type PoolTurns, type Whose } from "./pool-turns.ts";
import { endWhenSilent } from "./silence.ts";

/** Where PostgreSQL is: node-postgres' own settings (a socket folder as `host`, or a `connectionString`). */
export type Connection = Pick<
  pg.ClientConfig,
  "connectionString" | "host" | "port" | "user" | "password" | "database" | "application_name" | "keepAlive"
>;

/** A row as an object by column name; its types are stated where the statement is written. */
export type Row = Record<string, any>;
/** `whose`: whose turn it takes (`pool-turns.ts`); left out, the product's own. A transaction already has its turn. */
export type Query = (text: string, values?: unknown[], whose?: Whose) => Promise<Row[]>;

/** A named statement; the name stands for the text. */
export type Hot = (name: string, text: string, values: unknown[]) => Promise<Row[]>;

export type Database = {
  /** A named statement, prepared once per hot-pool connection, run with its generic plan. The name stands for the text. */
  hot(name: string, text: string, values: unknown[], whose?: Whose): Promise<Row[]>;
  /**
   * A large commit, written in slices of `LIMITS.batchBytes`: one transaction of named statements, on connections of its own that no
   * small statement waits for. Rolled back if `work` throws; `work` is called again if a plan was stale.
   */
  large<Result>(work: (hot: Hot) => Promise<Result>): Promise<Result>;
  /** On the list pool, planned with its values. */
  query: Query;
  /** One short transaction on the list pool; rolled back when `work` throws. */
  transaction<Result>(work: (query: Query) => Promise<Result>, whose?: Whose): Promise<Result>;
  /**
   * A connected client outside the pools (locks, LISTEN). Its errors and its end come as its events; the caller ends it.
   * With `silentMs` it ends by itself when a statement gets no answer for that long.
   */
  dedicated(silentMs?: number): Promise<pg.Client>;
  /** Where it is, for a thread that needs its own connection. */
  connection: Connection;
  /** The number that waits for a turn at the connections. */
  backlog: Backlog;
  /** True on the PostgreSQL that this process started for itself. */
  isEmbedded: boolean;
  /** Months whose partitions are known to exist, as `2026_11`; kept by `partitions.ts`. */
  months: Set<string>;
  /** For `metrics/`. */
  pools: { readonly hot: MeasuredPool; readonly list: MeasuredPool; readonly large: MeasuredPool };
  /** First lets statements under way end, for up to 5 s. Later ones are refused with UNAVAILABLE. */
} & AsyncDisposable;

type DatabaseOptions = {
  connection: Connection;
  isEmbedded: boolean;
  log: Log;
  hotConnections?: number;
  listConnections?: number;
};

/** The connections of each pool. */
const CONNECTIONS = 4;
const CONNECT_TIMEOUT_MS = 10_000;
/** Idle backends cost about 5 MB each: a pool closes all except one after this. */
const IDLE_TIMEOUT_MS = 30_000;
const CLOSE_TIMEOUT_MS = 5_000;
/** A connection keeps each statement that it prepared, also those of past months: it is replaced after a day. */
const LIFETIME_SECONDS = 86_400;
/** A pool ends a connection without an answer for this long: longer than any statement may take (statement_timeout). */
const SILENT_MS = 35_000;

/** Sent as SET, not as startup options: a pooler in session mode would refuse those. */
const SESSION = `
set timezone = 'UTC'; set datestyle = 'ISO'; set jit = off;
set idle_in_transaction_session_timeout = '30s';
select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off';`;
const LIST_SESSION = `${SESSION} set statement_timeout = '30s';`;
/**
 * A generic plan can't see how few rows a batch has, and tables that were empty when it was made look small:
 * without these it may hash or scan a whole partition.
 */
const HOT_SESSION = `${SESSION} set statement_timeout = '30s'; set plan_cache_mode = force_generic_plan;
set enable_hashjoin = off; set enable_mergejoin = off; set enable_seqscan = off; set enable_bitmapscan = off;
set enable_incremental_sort = off;`;

const JSON_OID = 114;
const INT8_OID = 20;
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: "text" | "binary") => {
    if (format !== "binary" && oid === JSON_OID) return parseStored;
    if (format !== "binary" && oid === INT8_OID) return Number;
    if (format !== "binary" && oid === TIMESTAMPTZ_OID) return parseTime;
    return pg.types.getTypeParser(oid, format);
  }) as typeof pg.types.getTypeParser,
};

function createPool(options: DatabaseOptions, max: number, session: string, min = 1): MeasuredPool {
  const pool = new pg.Pool({
    ...options.connection,
    types,
    max,
    min,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    maxLifetimeSeconds: LIFETIME_SECONDS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // The pool waits for what this returns, although its types say void.
    onConnect: (client) => {
      endWhenSilent(client, SILENT_MS);
      return client.query(session) as unknown as void;
    },
  });
  // A connection that dies is replaced by the pool. Without these listeners it would end the process: idle, and in use.
  pool.on("connect", (client) => client.on("error", () => {}));
  pool.on("error", (error) => {
    if (!pool.ending) options.log.warn({ reason: messageOf(error) }, "a database connection was lost");
  });
  return new MeasuredPool(pool);
}

/** The schema changed under a prepared statement, or a pooler dropped it: the statement did not run. */
const isStalePlan = (error: unknown): boolean => ["0A000", "26000"].includes(codeOf(error) ?? "");

/** Without a name: it is planned with its values. */
type Statement = { name?: string; text: string; values: unknown[] };

/**
 * With a callback: with node-postgres' own promise a quarter of what a statement allocates outlives two young-generation
 * collections, and is left to the costly major one.
 */
async function run(pool: MeasuredPool, askedAt: number, statement: Statement): Promise<Row[]> {
  const client = await pool.connect(askedAt);
  const begunAt = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<Row[]>();
  client.query<Row>(statement, (error: Error | null, result: pg.QueryResult<Row>) => {
    pool.querySeconds.since(begunAt);
    client.release(error !== null && (statement.name === undefined || isStalePlan(error)));
    if (error) reject(error);
    else resolve(result.rows);
  });
  return promise;
}

async function inTransaction<Result>(
  pool: MeasuredPool,
  askedAt: number,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect(askedAt);
  const begunAt = performance.now();
  try {
    await client.query("begin");
    const result = await work(client);
    await client.query("commit");
    client.release();
    return result;
  } catch (error) {
    const rolledBack = await client.query("rollback").then(
      () => true,
      () => false,
    );
    client.release(!rolledBack || isStalePlan(error));
    throw error;
  } finally {
    pool.querySeconds.since(begunAt);
  }
}

/** The connected clients outside the pools. */
class DedicatedClients {
  readonly #options: DatabaseOptions;
  /** `connected`: settles when it has connected, or could not. */
  readonly #clients = new Map<pg.Client, { connected: Promise<unknown> }>();

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  async connect(silentMs: number | undefined): Promise<pg.Client> {
    const { connection, log } = this.#options;
    const client = new pg.Client({ ...connection, types, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
    client.on("error", (error) => log.warn({ reason: messageOf(error) }, "a database connection was lost"));
    client.once("end", () => this.#clients.delete(client));
    const connected = client.connect();
    this.#clients.set(client, { connected });
    try {
      await connected;
      if (silentMs !== undefined) endWhenSilent(client, silentMs);
      await client.query(SESSION);
      return client;
    } catch (error) {
      void client.end();
      throw error;
    }
  }

  /** One that is ended while it connects would never tell its caller: it is ended once it has. */
  async end(): Promise<void> {
    const ending = Array.from(this.#clients, async ([client, { connected }]) => {
      await Promise.allSettled([connected]);
      await client.end();
    });
    await Promise.all(ending);
  }
}

const backlogOf = (hotTurns: PoolTurns, listTurns: PoolTurns): Backlog => ({
  isContended: () => hotTurns.backlog.isContended() || listTurns.backlog.isContended(),
  of: (organizationId) => {
    const [hot, list] = [hotTurns.backlog.of(organizationId), listTurns.backlog.of(organizationId)];
    return { waiting: hot.waiting + list.waiting, ms: Math.max(hot.ms, list.ms) };
  },
});

export function openDatabase(options: DatabaseOptions): Database {
  const { hotConnections = CONNECTIONS, listConnections = CONNECTIONS } = options;
  const hotPool = createPool(options, hotConnections, HOT_SESSION);
  const listPool = createPool(options, listConnections, LIST_SESSION);
  const largePool = createPool(options, LIMITS.largeWrites, HOT_SESSION, 0);
  const now = (): number => performance.now();
  const hotTurns = createPoolTurns(hotConnections, now);
  const listTurns = createPoolTurns(listConnections, now);
  const dedicated = new DedicatedClients(options);
  let isClosing = false;

  const hot = (askedAt: number, statement: Statement): Promise<Row[]> =>
    run(hotPool, askedAt, statement).catch((error: unknown) => {
      if (!isStalePlan(error)) throw error;
      return run(hotPool, hotPool.ask(), statement);
    });

  return {
    hot: (name, text, values, whose) => {
      if (isClosing) return Promise.reject(stopping());
      const askedAt = hotPool.ask();
      const statement = { name, text, values };
      return whose === undefined ? hot(askedAt, statement) : hotTurns.inTurn(whose, () => hot(askedAt, statement));
    },
    query: (text, values, whose) => {
      if (isClosing) return Promise.reject(stopping());
      const askedAt = listPool.ask();
      return listTurns.inTurn(whose, () => run(listPool, askedAt, { text, values: values ?? [] }));
    },
    transaction: (work, whose) => {
      if (isClosing) return Promise.reject(stopping());
      const askedAt = listPool.ask();
      const asked = (client: pg.PoolClient): ReturnType<typeof work> =>
        work(async (text, values) => (await client.query<Row>(text, values ?? [])).rows);
      return listTurns.inTurn(whose, () => inTransaction(listPool, askedAt, asked));
    },
    large: (work) => (isClosing ? Promise.reject(stopping()) : writeLarge(largePool, work)),
    dedicated: (silentMs) => (isClosing ? Promise.reject(stopping()) : dedicated.connect(silentMs)),
    backlog: backlogOf(hotTurns, listTurns),
    connection: options.connection,
    isEmbedded: options.isEmbedded,
    months: new Set(),
    pools: { hot: hotPool, list: listPool, large: largePool },
    [Symbol.asyncDispose]: () => {
      isClosing = true;
      return close([hotPool, listPool, largePool], dedicated);
    },
  };
}

function writeLarge<Result>(pool: MeasuredPool, work: (hot: Hot) => Promise<Result>): Promise<Result> {
  const once = (askedAt: number): Promise<Result> =>
    inTransaction(pool, askedAt, (client) =>
      work(async (name, text, values) => (await client.query<Row>({ name, text, values })).rows),
    );
  return once(pool.ask()).catch((error: unknown) => {
    if (!isStalePlan(error)) throw error;
    return once(pool.ask());
  });
}

/** Waits for statements under way, but no longer than `CLOSE_TIMEOUT_MS`. */
async function close(pools: MeasuredPool[], dedicated: DedicatedClients): Promise<void> {
  const ended = Promise.all([...pools.map((pool) => pool.close()), dedicated.end()]);
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
  await Promise.race([ended, late]);
  clearTimeout(timer);
  // Statements that have not ended hold connections of a database that does not answer.
  for (const { pool } of pools) if (!pool.ending) void pool.end().catch(() => {});
}
