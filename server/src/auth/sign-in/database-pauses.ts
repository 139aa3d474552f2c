/**
 * Pauses that all processes of one database share: a row for each mark in an unlogged table, changed by one statement, so that
 * the row's lock makes the count exact. The rules are those of pauses.ts. Who was refused is refused from memory for a while,
 * so a flood of guesses costs no statements; nor more connections than strangers have (pool-turns.ts). The processes' clocks
 * count. A failure of the database is thrown: without it no password can be read either.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Database } from "../../storage/database.ts";
import { CLOCKS_APART_MS, DOUBLINGS, REMEMBERED, ROUNDING, RULES, type Counted, type Pauses } from "./pauses.ts";

/** Another process may have given a pause back: until it is read, nobody is refused from a stale cache. */
const ASK_AGAIN_MS = 5_000;
const SWEEP_MS = 60_000;
const LONGEST_MS = Math.max(...Object.values(RULES).map(({ mostMs }) => mostMs));

export function createDatabasePauses(database: Database, clock: Clock, log: Log): Pauses {
  const refused = new LRUCache<string, { until: number; askAt: number }>({ max: REMEMBERED });
  let sweepAt = clock.now() + SWEEP_MS;

  const waitMs = (counted: readonly Counted[]): number => {
    const now = clock.now();
    const leftMs = counted.map(({ mark }) => {
      const known = refused.get(mark);
      return known && known.askAt > now && known.askAt <= now + ASK_AGAIN_MS ? known.until - now : 0;
    });
    return Math.max(...leftMs);
  };

  const giveBack = async (counted: readonly Counted[]): Promise<void> => {
    if (counted.length === 0) return;
    await takeBack(database, counted, clock.now()).catch((error: unknown) =>
      log.warn({ reason: messageOf(error) }, "a sign-in that succeeded stays counted as failed"),
    );
  };

  const sweep = (now: number): void => {
    if (now < sweepAt) return;
    sweepAt = now + SWEEP_MS;
    void removeOld(database, now).catch((error: unknown) =>
      log.warn({ reason: messageOf(error) }, "old pauses of sign-ins could not be removed"),
    );
  };

  return {
    waitMs,
    count: async (counted) => {
      const leftMs = waitMs(counted);
      if (leftMs > 0) return leftMs;
      const now = clock.now();
      sweep(now);
      const outcomes = await countEach(database, counted, now);
      const pauses = outcomes.filter(({ isCounted }) => !isCounted);
      if (pauses.length === 0) return 0;
      for (const { mark, until } of pauses) refused.set(mark, { until, askAt: Math.min(until, now + ASK_AGAIN_MS) });
      await giveBack(outcomes.filter(({ isCounted }) => isCounted));
      return Math.max(...pauses.map(({ until }) => until)) - now;
    },
    giveBack,
  };
}

const KINDS = Object.entries(RULES)
  .map(([kind, { free, firstMs, mostMs }]) => `('${kind}', ${free}, ${firstMs}, ${mostMs})`)
  .join(", ");

/** Rows are locked in one order, so that no two statements wait for each other. `known`: what was; `next`: with one more. */
const COUNT = `
insert into sign_in_pauses as p (mark, kind, level, until, is_counted)
select mark, kind, 1, $3::bigint, true from unnest($1::text[], $2::text[]) as asked (mark, kind) order by mark
on conflict (mark) do update set (level, until, is_counted) = (
  select case when is_free then next.level else p.level end,
         case when not is_free then p.until
              when next.doublings < 0 then known.time
              else known.time + least(most_ms, first_ms * 2 ^ next.doublings)::bigint end,
         is_free
    from (values ${KINDS}) as rule (kind, free, first_ms, most_ms),
         lateral (select p.until > $3::bigint + most_ms + ${CLOCKS_APART_MS} as is_void) as clock,
         lateral (select is_void or p.until <= $3::bigint or ceil(p.level - free - ${ROUNDING}) < 0 as is_free,
                         case when is_void then $3::bigint else greatest($3::bigint, p.until) end as time,
                         case when is_void then 0
                              else greatest(p.level - greatest($3::bigint - p.until, 0)::float8 / most_ms, 0) end as level) as known,
         lateral (select least(known.level + 1, free + ${DOUBLINGS})) as more (level),
         lateral (select more.level, ceil(more.level - free - ${ROUNDING}) as doublings) as next
   where rule.kind = p.kind)
returning mark, kind, until, is_counted`;

type Outcome = Counted & { until: number; isCounted: boolean };

async function countEach(database: Database, counted: readonly Counted[], now: number): Promise<Outcome[]> {
  const rows = await database.query(COUNT, [...columns(counted), now], "strangers");
  return rows.map((row) => ({ mark: row.mark, kind: row.kind, until: row.until, isCounted: row.is_counted }));
}

const takeBack = async (database: Database, counted: readonly Counted[], now: number): Promise<void> =>
  void (await database.query(
    `with held as (
       select mark from sign_in_pauses where mark = any ($1::text[]) order by mark for update)
     update sign_in_pauses p set level = greatest(level - 1, 0), until = least(until, $2::bigint)
       from held where p.mark = held.mark`,
    [counted.map(({ mark }) => mark), now],
    "strangers",
  ));

/** Those whose failures are all taken back. */
const removeOld = (database: Database, now: number): Promise<unknown> =>
  database.query(
    `delete from sign_in_pauses where mark in (
       select mark from sign_in_pauses where until + level * ${LONGEST_MS} <= $1::bigint for update skip locked)`,
    [now],
    "strangers",
  );

const columns = (counted: readonly Counted[]): [string[], string[]] => [
  counted.map(({ mark }) => mark),
  counted.map(({ kind }) => kind),
];
