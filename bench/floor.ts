/**
 * The floor: the least that a durable run costs without any engine, language, sign-in or GraphQL. A bare node:http
 * server with the server's own Node flags, on a PostgreSQL from the same launcher with the same settings and the very
 * same tables (our migrations, so the same columns, checks and indexes), reached by a pool of its own. Each request's
 * statements are its own (nothing is grouped), named, prepared once a connection and run by their generic plans.
 *
 *     /three   one start statement, one end statement with the three step rows, answers the result
 *     /call    one start statement, then three times: a call to the sink, a checkpoint statement; answers the result
 *     /start   one start statement, answers; the end statement follows
 *     /event   one statement that writes an event
 *
 * By itself: `node bench/floor.ts <folder> <sink URL>` prints `floor at <URL>`.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import pg from "pg";
import { Agent } from "undici";
import { newId } from "../server/src/lib/ids.ts";
import { createLog } from "../server/src/lib/log/log.ts";
import { openDatabase } from "../server/src/storage/database.ts";
import { openEmbedded } from "../server/src/postgres/embedded.ts";
import { migrate } from "../server/src/storage/migrate.ts";
import { ensurePartitions, partitionOf } from "../server/src/storage/partitions.ts";

/** Its quickest at 16 at once: with 8 connections it has 0.81 of this rate, with 4 it has 0.57, for the same CPU or more. */
const CONNECTIONS = 16;
const SESSION = `set timezone = 'UTC'; set plan_cache_mode = force_generic_plan; set jit = off;`;

/** Who asks and what for: a real server would look these up. */
const [ORGANIZATION, PROJECT, AGENT, OWNER] = Array.from({ length: 4 }, () => newId());

type Statement = (name: string, text: string, values: unknown[]) => Promise<unknown>;
type Floor = { run: Statement; month: string; call: (run: string, step: number) => Promise<string> };
type Answer = { id: string; status: string; createdAt: string; output: unknown; steps: object[] };

const insertRun = (month: string): string => `
  insert into runs_${month} (id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id,
                             input, created_at, started_at, revision, current_step, progress, epoch, owner, wake_seq)
  values ($1, $2, $3, $4, '1.0.0', 'running', 'key', $5, $6, $7, $7, 1, 1, 0, 1, $5, 0)`;
const startValues = (id: string, input: unknown, now: string): unknown[] => [
  id,
  ORGANIZATION,
  PROJECT,
  AGENT,
  OWNER,
  JSON.stringify(input),
  now,
];

const STEP_COLUMNS =
  "run_id, number, organization_id, key, name, kind, status, round, attempt, output, started_at, finished_at, revision";

const endRun = (month: string): string => `
  with done as (
    update runs_${month} set status = 'completed', output = $2, finished_at = $3, revision = 5, current_step = 3,
                             progress = 100, owner = null
     where id = $1 and epoch = 1 returning id, organization_id)
  insert into steps_${month} (${STEP_COLUMNS})
  select done.id, step.number, done.organization_id, step.name || '#1', step.name, 'set', 'completed', '', 1,
         step.output, $3, $3, step.number + 1
    from done, (values (1, 'add1', $4::json), (2, 'add2', $5::json), (3, 'add3', $6::json)) as step(number, name, output)`;

/** Three steps that add one to `n`, as the sandbox's agent `three`. */
async function three(floor: Floor, { n }: { n: number }, answered?: (answer: Answer) => void): Promise<Answer> {
  const id = newId();
  const now = new Date().toISOString();
  await floor.run("start", insertRun(floor.month), startValues(id, { n }, now));
  answered?.({ id, status: "running", createdAt: now, output: null, steps: [] });
  const outputs = [1, 2, 3].map((more) => ({ n: n + more }));
  const [first, second, last] = outputs.map((output) => JSON.stringify(output));
  await floor.run("end", endRun(floor.month), [id, last, new Date().toISOString(), first, second, last]);
  const steps = [1, 2, 3].map((number) => ({ number, status: "completed", duration: 0 }));
  return { id, status: "completed", createdAt: now, output: outputs[2], steps };
}

const firstStep = (month: string): string => `
  with run as (${insertRun(month)} returning id, organization_id)
  insert into steps_${month} (${STEP_COLUMNS})
  select run.id, 1, run.organization_id, 'call1#1', 'call1', 'http', 'running', '', 1, null, $7, null, 1 from run`;

/** Step `$2` has ended with `$3` at `$4`; the next one begins. */
const checkpoint = (month: string): string => `
  with run as (
    update runs_${month} set current_step = $2::int + 1, revision = revision + 2, progress = $2::int * 33
     where id = $1 and epoch = 1 returning id, organization_id),
  done as (
    update steps_${month} set status = 'completed', output = $3, finished_at = $4, revision = revision + 2
     where run_id = (select id from run) and number = $2::int)
  insert into steps_${month} (${STEP_COLUMNS})
  select run.id, $2::int + 1, run.organization_id, $5 || '#1', $5, 'http', 'running', '', 1, null, $4, null, 1 from run`;
const lastCheckpoint = (month: string): string => `
  with run as (
    update runs_${month} set status = 'completed', output = $3, finished_at = $4, revision = revision + 2, progress = 100,
                             owner = null
     where id = $1 and epoch = 1 returning id)
  update steps_${month} set status = 'completed', output = $3, finished_at = $4, revision = revision + 2
   where run_id = (select id from run) and number = $2::int`;

async function call(floor: Floor): Promise<Answer> {
  const id = newId();
  const createdAt = new Date().toISOString();
  await floor.run("first", firstStep(floor.month), startValues(id, {}, createdAt));
  let output = "";
  for (const step of [1, 2, 3]) {
    output = await floor.call(id, step);
    const values = [id, step, output, new Date().toISOString()];
    if (step < 3) await floor.run("checkpoint", checkpoint(floor.month), [...values, `call${step + 1}`]);
    else await floor.run("last", lastCheckpoint(floor.month), values);
  }
  const steps = [1, 2, 3].map((number) => ({ number, status: "completed", duration: 1 }));
  return { id, status: "completed", createdAt, output: JSON.parse(output), steps };
}

const insertEvent = `
  insert into events (id, organization_id, once, source, event, source_id, time, at, data, body_hash, depth,
                      published_by_kind, published_by_id)
  values ($1, $2, $3, $4, $5, $6, $7, $7, $8, $3, 0, 'key', $9)
  on conflict (organization_id, once) do nothing`;

async function event(floor: Floor, { source, type, id, data }: Record<string, unknown>): Promise<Answer> {
  const own = newId();
  const createdAt = new Date().toISOString();
  const text = JSON.stringify(data);
  const once = createHash("sha256")
    .update(`${source as string} ${id as string}`)
    .digest();
  await floor.run("event", insertEvent, [own, ORGANIZATION, once, source, type, id, createdAt, text, OWNER]);
  return { id: own, status: "accepted", createdAt, output: null, steps: [] };
}

function bodyOf(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (text: string) => (body += text));
    request.on("end", () => resolve(body));
    request.on("error", reject);
  });
}

function serve(floor: Floor): Promise<string> {
  const server = createServer((request, response) => {
    const send = (runAgent: Answer): void => {
      const body = JSON.stringify({ data: { runAgent } });
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
      if (!response.headersSent) response.writeHead(200, headers).end(body);
    };
    const answer = async (): Promise<void> => {
      const body = JSON.parse(await bodyOf(request));
      if (request.url === "/event") return send(await event(floor, body));
      const { variables } = body;
      if (request.url === "/call") return send(await call(floor));
      send(await three(floor, variables.input.input, request.url === "/start" ? send : undefined));
    };
    answer().catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  });
}

/** The same call as the agent's: a POST without a body, its key, the answer read as JSON text. */
function caller(sinkUrl: string): Floor["call"] {
  const agent = new Agent({ connections: 256 });
  return async (run, step) => {
    const { body } = await agent.request({
      origin: new URL(sinkUrl).origin,
      path: `/?run=${run}&step=${step}`,
      method: "POST",
      headers: { "idempotency-key": `${run}/${step}` },
    });
    return body.text();
  };
}

async function main([folder = "", sinkUrl = ""]: string[]): Promise<void> {
  const log = createLog("warn");
  await using embedded = await openEmbedded({ dataFolder: path.resolve(folder), url: "the floor", log });
  const { connection } = embedded;
  let month: string;
  {
    await using database = openDatabase({ connection, isEmbedded: true, log });
    await migrate(database);
    await ensurePartitions(database, Date.now());
    month = partitionOf(database, newId());
  }
  const onConnect = (client: pg.ClientBase): void => client.query(SESSION) as unknown as void;
  // Never idle so long that a connection and its prepared statements go.
  const pool = new pg.Pool({ ...connection, max: CONNECTIONS, idleTimeoutMillis: 0, onConnect });
  pool.on("error", () => {});
  const run: Statement = (name, text, values) => pool.query({ name, text, values });
  console.log(`floor at ${await serve({ run, month, call: caller(sinkUrl) })}`);
  await new Promise((resolve) => process.once("SIGTERM", resolve));
  await pool.end();
}

if (import.meta.main) {
  await main(process.argv.slice(2));
  process.exit();
}
