/**
 * The usage of each organization, by day (UTC). Counted in memory and added to the database every few seconds in one statement, so a
 * process that is killed loses the counts of its last 5 s.
 */
import { utcDate } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Log } from "../lib/log/log.ts";
import { Loop } from "../lib/loops/loop.ts";
import type { Database } from "../storage/database.ts";
import {
  createAgentModelUse,
  createConnectionModelUse,
  createModelCosts,
  type ReadAgentModelUse,
  type ReadConnectionModelUse,
  type ReadModelCost,
} from "./model-costs.ts";

type UsageCounts = {
  /** Requests that counted, without the refused ones. */
  requests: number;
  /** Requests over the plan's limit. */
  refused: number;
  /** Runs that were started. */
  runs: number;
  /** Steps that completed or failed. */
  steps: number;
  /** Tokens of questions to the language model and its answers, as it counted them. */
  modelTokens: number;
};
/** `date`: YYYY-MM-DD. */
export type UsageDay = UsageCounts & { date: string };

export type Usage = {
  request(organizationId: OrganizationId, isRefused: boolean): void;
  run(organizationId: OrganizationId): void;
  steps(organizationId: OrganizationId, count: number): void;
  modelTokens(organizationId: OrganizationId, count: number): void;
  /** The last `days` days, today included, the newest first. */
  read(organizationId: OrganizationId, days: number): Promise<UsageDay[]>;
  modelCost: ReadModelCost;
  agentModelUse: ReadAgentModelUse;
  connectionModelUse: ReadConnectionModelUse;
  loop: Loop;
} & AsyncDisposable;

type UsageOptions = {
  database: Database;
  clock: Clock;
  log: Log;
  /** Resolves when the organization's calls of models that ended so far are written. */
  settled: (organizationId: OrganizationId) => Promise<void>;
};

/** `day`: since 1970. */
type Tally = UsageCounts & { organizationId: OrganizationId; day: number };

const DAY_MS = 86_400_000;
const FLUSH_EVERY_MS = 5_000;
const FAILED = "the usage could not be written; trying again";
const ROWS_A_STATEMENT = 1_000;
/** The maximum of the API's Int. */
const MAX_INT = 2 ** 31 - 1;

const NOTHING: UsageCounts = { requests: 0, refused: 0, runs: 0, steps: 0, modelTokens: 0 };

const dateOf = (day: number): string => utcDate(day * DAY_MS);

export function createUsage({ database, clock, log, settled }: UsageOptions): Usage {
  const tallies = new Tallies();
  const writing = new Set<Promise<void>>();
  const today = (): number => Math.floor(clock.now() / DAY_MS);
  const tallyOf = (organizationId: OrganizationId): Tally => tallies.of(organizationId, today());

  const writeAll = async (cameRound: () => unknown): Promise<void> => {
    const all = tallies.takeAll();
    try {
      for (; all.length > 0; all.splice(0, ROWS_A_STATEMENT)) {
        await write(database, merged(all.slice(0, ROWS_A_STATEMENT)), today());
        cameRound();
      }
    } finally {
      tallies.giveBack(all);
    }
  };

  const flush = async (cameRound: () => unknown): Promise<void> => {
    if (tallies.isEmpty) return;
    const one = writeAll(cameRound).finally(() => writing.delete(one));
    writing.add(one);
    await one;
  };
  const loop = new Loop({
    clock,
    log,
    name: "usage",
    everyMs: FLUSH_EVERY_MS,
    look: (round) => flush(() => round.goesOn()),
    failed: FAILED,
  }).start(clock.now() + FLUSH_EVERY_MS);

  /** Resolves when all counts so far are written, unless the database cannot be reached. */
  const flushAll = async (): Promise<void> => {
    const settled = await Promise.allSettled([...writing, flush(() => {})]);
    const failed = settled.find((one) => one.status === "rejected");
    if (failed) log.warn({ reason: messageOf(failed.reason) }, FAILED);
  };

  return {
    request: (organizationId, isRefused) => void tallyOf(organizationId)[isRefused ? "refused" : "requests"]++,
    run: (organizationId) => void tallyOf(organizationId).runs++,
    steps: (organizationId, count) => void (tallyOf(organizationId).steps += count),
    modelTokens: (organizationId, count) => void (tallyOf(organizationId).modelTokens += count),
    read: async (organizationId, days) => {
      await flushAll();
      return readDays(database, organizationId, { last: today(), days });
    },
    modelCost: createModelCosts({ database, clock, settled }),
    agentModelUse: createAgentModelUse({ database, clock, settled }),
    connectionModelUse: createConnectionModelUse({ database, clock, settled }),
    loop,
    async [Symbol.asyncDispose]() {
      await loop[Symbol.asyncDispose]();
      await flushAll();
    },
  };
}

/** The `days` days up to `last`, the newest first. */
async function readDays(
  database: Database,
  organizationId: OrganizationId,
  { last, days }: { last: number; days: number },
): Promise<UsageDay[]> {
  const rows = await database.query(
    `select to_char(day, 'YYYY-MM-DD') as date, least(requests, $4) as requests, least(refused, $4) as refused,
                least(runs, $4) as runs, least(steps, $4) as steps, least(model_tokens, $4) as "modelTokens"
           from usage_days where organization_id = $1 and day > $2::date and day <= $3::date`,
    [organizationId, dateOf(last - days), dateOf(last), MAX_INT],
    organizationId,
  );
  const known = new Map(rows.map((row) => [row["date"], row as UsageDay]));
  return Array.from({ length: days }, (_, ago) => {
    const date = dateOf(last - ago);
    return known.get(date) ?? { date, ...NOTHING };
  });
}

/** Counts that are not written yet. */
class Tallies {
  #open = new Map<OrganizationId, Tally>();
  /** Counts of a past day, or that could not be written. */
  #closed: Tally[] = [];

  get isEmpty(): boolean {
    return this.#open.size === 0 && this.#closed.length === 0;
  }

  of(organizationId: OrganizationId, day: number): Tally {
    const tally = this.#open.get(organizationId);
    if (tally?.day === day) return tally;
    if (tally) this.#closed.push(tally);
    const begun = { organizationId, day, ...NOTHING };
    this.#open.set(organizationId, begun);
    return begun;
  }

  takeAll(): Tally[] {
    const all = [...this.#closed, ...this.#open.values()];
    this.#closed = [];
    this.#open = new Map();
    return all;
  }

  /** Merges them, so that they do not grow while the database is away. */
  giveBack(tallies: Tally[]): void {
    if (tallies.length > 0) this.#closed = merged([...tallies, ...this.#closed]);
  }
}

/** One for each organization and day, in the order of their rows: of two processes neither waits for the other in a circle. */
function merged(tallies: Tally[]): Tally[] {
  const sums = new Map<string, Tally>();
  for (const tally of tallies) {
    const key = `${tally.organizationId} ${tally.day}`;
    const sum = sums.get(key);
    if (!sum) sums.set(key, { ...tally });
    else for (const name of COUNTS) sum[name] += tally[name];
  }
  return [...sums].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, tally]) => tally);
}

/** In the order of their columns. */
const COUNTS = ["requests", "refused", "runs", "steps", "modelTokens"] as const satisfies (keyof UsageCounts)[];

/** Also removes the organizations' days that nobody can ask for any longer, those of models' use too. */
async function write(database: Database, tallies: Tally[], today: number): Promise<void> {
  await database.query(
    `with added as (
       insert into usage_days as known (organization_id, day, requests, refused, runs, steps, model_tokens)
       select * from unnest($1::uuid[], $2::date[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
       on conflict (organization_id, day) do update set
         requests = known.requests + excluded.requests, refused = known.refused + excluded.refused,
         runs = known.runs + excluded.runs, steps = known.steps + excluded.steps,
         model_tokens = known.model_tokens + excluded.model_tokens),
     forgotten as (delete from model_spend where organization_id = any($1::uuid[]) and day <= $8::date)
     delete from usage_days where organization_id = any($1::uuid[]) and day <= $8::date`,
    [
      tallies.map((tally) => tally.organizationId),
      tallies.map((tally) => dateOf(tally.day)),
      ...COUNTS.map((name) => tallies.map((tally) => tally[name])),
      dateOf(today - LIMITS.usageDays),
    ],
  );
}
