/**
 * Fills a server's database with finished runs of many months, straight by SQL: each is a copy of a real run and its
 * steps with another id, time, owner and status, so that it follows the schema without being told of it.
 */
import { openDatabase } from "../server/src/storage/database.ts";
import { socketConnection } from "../server/src/postgres/embedded.ts";
import { createLog } from "../server/src/lib/log/log.ts";
import { readPassword } from "../server/src/postgres/postgres-password.ts";
import { readPidFile } from "../server/src/postgres/postmaster.ts";
import { ensurePartitions } from "../server/src/storage/partitions.ts";
import path from "node:path";
import type { Server } from "./launch.ts";
import { connectTo, type Postgres } from "./postgres.ts";

/** The owner of the runs, and how they ended. Ids as PostgreSQL has them. */
export type Kind = {
  organizationId: string;
  projectId: string;
  agentId: string;
  status: "completed" | "failed" | "cancelled";
  /** How many of all; they lie between each other like those of many customers. */
  share: number;
};

/** `count` runs evenly over the months from `first` to `last`, counted back from this one: 0 is this month. */
export type Fill = { kinds: Kind[]; count: number; first: number; last: number };

type Month = { name: string; from: number; to: number };

/** This month, only its past. */
function monthBack(back: number, now: number): Month {
  const date = new Date(now);
  const from = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back);
  const to = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back + 1);
  return { name: new Date(from).toISOString().slice(0, 7).replace("-", "_"), from, to: Math.min(to, now) };
}

/** Partitions of this month and the `months - 1` before it, by the server's own rule. */
export async function createMonths({ dataFolder }: Server, months: number): Promise<void> {
  const { socketFolder } = readPidFile(path.join(dataFolder, "postgres"))!;
  const connection = socketConnection(socketFolder, readPassword(dataFolder)!);
  await using database = openDatabase({ connection, isEmbedded: true, log: createLog("warn") });
  for (let back = months - 1; back > 0; back--) await ensurePartitions(database, monthBack(back, Date.now()).from);
}

/** Months filled at once, each by a connection of its own. */
const CONNECTIONS = 3;

/** `template` is the id of a finished run with its steps. */
export async function fill(server: Server, template: string, fills: Fill[]): Promise<void> {
  const now = Date.now();
  const parts = fills.flatMap((one, index) => {
    const months = one.first - one.last + 1;
    return Array.from({ length: months }, (_, month) => ({
      ...one,
      salt: `${index}/`,
      month: monthBack(one.first - month, now),
      count: Math.floor((one.count * (month + 1)) / months) - Math.floor((one.count * month) / months),
    }));
  });
  const worker = async (): Promise<void> => {
    await using postgres = await connectTo(server);
    for (let part = parts.shift(); part; part = parts.shift()) await fillMonth(postgres, template, part);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}

/** As autovacuum does with a partition that was filled. */
export async function settle(server: Server): Promise<void> {
  await using postgres = await connectTo(server);
  const partitions = await postgres.query(
    "select inhrelid::regclass::text as name from pg_inherits where inhparent in ('runs'::regclass, 'steps'::regclass)",
  );
  for (const { name } of partitions) await postgres.query(`vacuum (analyze) ${name}`);
}

type Part = Fill & { salt: string; month: Month };

/** A UUIDv7 of the time `at` (ms), its random bits from `seed`. */
const UUID = `(left(time, 8) || '-' || right(time, 4) || '-7' || substr(seed, 1, 3) || '-8' || substr(seed, 4, 3) || '-'
  || substr(seed, 7, 12))::uuid`;
/** The differences from the template. */
const OF_RUN: Record<string, string> = {
  id: "made.id",
  organization_id: "made.organization_id",
  project_id: "made.project_id",
  agent_id: "made.agent_id",
  status: "made.status",
  output: "case made.status when 'completed' then template.output end",
  error: `case made.status when 'failed' then '{"type":"timeout","status":408,"title":"Timeout"}'::json end`,
  progress: "case made.status when 'completed' then 100 else 66 end",
  created_at: "made.at",
  started_at: "made.at",
  finished_at: "made.at",
  cancelled_at: "case made.status when 'cancelled' then made.at end",
};
const OF_STEP: Record<string, string> = {
  run_id: "made.id",
  organization_id: "made.organization_id",
  started_at: "made.at",
  finished_at: "made.at",
};

const copied = (columns: string[], other: Record<string, string>): string =>
  columns.map((column) => other[column] ?? `template.${column}`).join(", ");

async function fillMonth(postgres: Postgres, template: string, { month, count, kinds, salt }: Part): Promise<void> {
  const [runs, steps] = [await columnsOf(postgres, "runs"), await columnsOf(postgres, "steps")];
  const slots = slotsOf(kinds);
  await postgres.query(
    `with timed as (
       select number, $1::float8 + ($2::float8 - $1) * (number + 0.5) / $3::int as ms, 1 + number * 37 % ${slots.length} as slot,
              md5($4 || $1 || '/' || number) as seed
         from generate_series(0, $3 - 1) as number),
     made as materialized (
       select ${UUID} as id, to_timestamp(ms / 1000) as at, ($5::uuid[])[slot] as organization_id,
              ($6::uuid[])[slot] as project_id, ($7::uuid[])[slot] as agent_id, ($8::text[])[slot] as status
         from timed, lpad(to_hex(ms::bigint), 12, '0') as time order by number),
     runs as (
       insert into runs_${month.name} (${runs.join(", ")})
       select ${copied(runs, OF_RUN)} from made, (select * from runs where id = $9) as template)
     insert into steps_${month.name} (${steps.join(", ")})
     select ${copied(steps, OF_STEP)} from made, (select * from steps where run_id = $9) as template`,
    [
      month.from,
      month.to,
      count,
      salt,
      slots.map(({ organizationId }) => organizationId),
      slots.map(({ projectId }) => projectId),
      slots.map(({ agentId }) => agentId),
      slots.map(({ status }) => status),
      template,
    ],
  );
}

const SLOTS = 100;

/** Each kind as often as its share says. */
function slotsOf(kinds: Kind[]): Kind[] {
  const slots = kinds.flatMap((kind) => Array.from({ length: Math.round(kind.share * SLOTS) }, () => kind));
  if (slots.length !== SLOTS) throw new Error(`shares make ${slots.length} of ${SLOTS}`);
  return slots;
}

async function columnsOf(postgres: Postgres, table: string): Promise<string[]> {
  const rows = await postgres.query(
    "select attname::text as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum",
    [table],
  );
  return rows.map(({ name }) => name as string);
}
