/**
 * Windows that all processes of one database share: a row for each limited organization, changed by one statement, so that
 * the row's lock makes it exact. While an organization's statement is under way, its next requests gather for the following one:
 * a flood takes one connection of each process. Who was refused is refused from memory until there can be room again,
 * since a refused request does not extend the window. The rules are those of fairness/rate-window.ts. The processes' clocks count,
 * so what they differ by the window may be off by.
 */
import { every, type Clock } from "../lib/clock.ts";
import type { OrganizationId } from "../lib/ids.ts";
import type { Database, Row } from "../storage/database.ts";
import { bucketRoom, burstOf, LOGGED_MOST, WINDOW_MS, type Room, type Taken } from "../fairness/rate-window.ts";

/** Where an organization's requests are counted: these, or those of this process on the embedded database (`RateWindows`). */
export type Windows = {
  /** Counts a request, if there is room for it. */
  take(organizationId: OrganizationId, limit: number): Taken | Promise<Taken>;
  /** The present state, without counting. */
  look(organizationId: OrganizationId, limit: number): Room | Promise<Room>;
};

type Waiting = { limit: number; takes: boolean; resolve: (taken: Taken) => void; reject: (error: unknown) => void };
/** One organization's window. Present while a statement is under way, or there is no room. */
type Line = { waiting: Waiting[]; isAsking: boolean; full: { limit: number; until: number } | undefined };

export function createDatabaseWindows(database: Database, clock: Clock): Windows & Disposable {
  const lines = new Map<OrganizationId, Line>();
  const forgetting = every(clock, WINDOW_MS, () => {
    for (const [organizationId, { isAsking, full }] of lines) {
      if (!isAsking && full && full.until <= clock.now()) lines.delete(organizationId);
    }
  });

  const askAll = async (organizationId: OrganizationId, line: Line): Promise<void> => {
    line.isAsking = true;
    while (line.waiting.length > 0) {
      const { limit } = line.waiting[0]!;
      // All but around a change of plan.
      const some = line.waiting.filter((one) => one.limit === limit);
      line.waiting = line.waiting.filter((one) => one.limit !== limit);
      try {
        const now = clock.now();
        const wanted = some.filter(({ takes }) => takes);
        const { granted, ...room } = await take(database, { organizationId, limit, now, wanted: wanted.length });
        wanted.forEach(({ resolve }, place) => {
          const isTaken = place < granted;
          resolve({ ...room, isTaken, remaining: room.remaining + Math.max(0, granted - place - 1) });
        });
        for (const { takes, resolve } of some) if (!takes) resolve({ ...room, isTaken: false });
        line.full = room.remaining > 0 ? undefined : { limit, until: now + room.resetMs };
      } catch (error) {
        for (const { reject } of some) reject(error);
      }
    }
    line.isAsking = false;
    if (!line.full) lines.delete(organizationId);
  };

  const ask = (organizationId: OrganizationId, limit: number, takes: boolean): Promise<Taken> => {
    const line = lines.get(organizationId) ?? { waiting: [], isAsking: false, full: undefined };
    lines.set(organizationId, line);
    const leftMs = (line.full?.limit === limit ? line.full.until : 0) - clock.now();
    // Beyond a window's length the clock was set back.
    if (leftMs > 0 && leftMs <= WINDOW_MS) {
      return Promise.resolve({ isTaken: false, remaining: 0, resetMs: leftMs });
    }
    return new Promise((resolve, reject) => {
      line.waiting.push({ limit, takes, resolve, reject });
      if (!line.isAsking) void askAll(organizationId, line);
    });
  };

  return {
    take: (organizationId, limit) => ask(organizationId, limit, true),
    look: (organizationId, limit) => ask(organizationId, limit, false),
    [Symbol.dispose]: () => forgetting[Symbol.dispose](),
  };
}

type Asked = { organizationId: OrganizationId; limit: number; now: number; wanted: number };
type Granted = Room & { granted: number };

/** Counts as many of the wanted requests as there is room for. */
async function take(database: Database, asked: Asked): Promise<Granted> {
  return asked.limit > LOGGED_MOST ? takeFromBucket(database, asked) : takeFromLog(database, asked);
}

/** `time`: of the statement, never before that of an earlier one unless the clock was set back by more than a window. */
const LOG = `
insert into rate_windows as w (organization_id, times, granted)
values ($1, array_fill($2::bigint, array[least($3::int, $4::int)]), least($3::int, $4::int))
on conflict (organization_id) do update set (times, granted) = (
  select room.kept || array_fill(room.time, array[room.free]), room.free
    from (select known.time, known.kept, greatest(least($3::int, $4::int - cardinality(known.kept)), 0) as free
            from (select at.time, array(select t from unnest(w.times) t where t > at.time - ${WINDOW_MS} and t <= at.time order by t) as kept
                    from (select greatest($2::bigint, (select max(t) from unnest(w.times) t where t <= $2::bigint + ${WINDOW_MS})) as time) at
                 ) known) room)
returning granted, cardinality(times) as used, times[greatest(cardinality(times) - $4::int + 1, 1)] as leaving`;

async function takeFromLog(database: Database, { organizationId, limit, now, wanted }: Asked): Promise<Granted> {
  const values = [organizationId, now, wanted, limit];
  const [row] = (await database.hot("rate_log", LOG, values, organizationId)) as [Row];
  const { granted, used, leaving } = row;
  if (used === 0) return { granted, remaining: limit, resetMs: 0 };
  return { granted, remaining: Math.max(0, limit - used), resetMs: Math.max(1, leaving + WINDOW_MS - now) };
}

const BUCKET = `
insert into rate_windows as w (organization_id, level, level_at, granted)
values ($1, least($3::int, $5::int), $2::bigint, least($3::int, $5::int))
on conflict (organization_id) do update set (level, level_at, granted) = (
  select room.level + room.free, room.time, room.free
    from (select known.time, known.level, greatest(least($3::int, floor($5::int - known.level + 0.000001)::int), 0) as free
            from (select at.time, greatest(at.level - (at.time - at.since) * $4::float8 / ${WINDOW_MS}, 0) as level
                    from (select greatest($2::bigint, w.level_at) as time, w.level, w.level_at as since
                           where w.level_at <= $2::bigint + ${WINDOW_MS}
                          union all select $2::bigint, 0, $2::bigint where w.level_at > $2::bigint + ${WINDOW_MS}) at
                 ) known) room)
returning granted, level`;

async function takeFromBucket(database: Database, { organizationId, limit, now, wanted }: Asked): Promise<Granted> {
  const values = [organizationId, now, wanted, limit, burstOf(limit)];
  const [row] = (await database.hot("rate_bucket", BUCKET, values, organizationId)) as [Row];
  return { granted: row["granted"], ...bucketRoom(limit, row["level"]) };
}
