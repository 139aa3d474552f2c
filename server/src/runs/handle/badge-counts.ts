/** How much waits: open runs, and the open approvals that a caller may decide, for the numbers beside a menu. */
import type { ProjectId, UserId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Within } from "../../lib/reach.ts";
import { isFinal, RUN_STATUSES } from "../../execution/run/states.ts";
import { Batch } from "../../storage/batch.ts";
import type { Database, Row } from "../../storage/database.ts";

/** Who would decide (who-decides.ts). */
export type Decider =
  | { kind: "key" }
  /** `names`: as assignees name them. */
  | { kind: "user"; id: UserId; names: readonly string[]; mayOverride: boolean };

/** Each at most `LIMITS.counted`: so many, or more. */
export type Badges = { openRuns: number; openApprovals: number };

type Place = { within: Within; projectId: ProjectId | undefined };
/** `decider`: who would decide; null: the caller may decide nothing. */
type Wanted = Place & { decider: Decider | null };
/** Counts what is committed at the time of the call, or later. */
export type BadgeCounts = { add(wanted: Wanted): Promise<Badges> };

/**
 * A number that many subscribers ask for at once is counted once. One count at a time: where thousands of runs of a large
 * organization are open, each of its projects takes 100 ms, and another organization waits for one of them, not for all.
 */
export function createBadgeCounts(database: Database): BadgeCounts {
  const runs = shared(database, countRuns);
  const approvals = shared(database, countApprovals);
  return {
    async add({ within, projectId, decider }) {
      const place = { within, projectId };
      const [openRuns, openApprovals] = await Promise.all([
        runs(place),
        decider === null ? 0 : approvals({ ...place, decider }),
      ]);
      return { openRuns, openApprovals };
    },
  };
}

function shared<Counted extends Place>(
  database: Database,
  count: (database: Database, wanted: Counted) => Promise<number>,
): (wanted: Counted) => Promise<number> {
  /** Asked for, and not begun. */
  const waiting = new Map<string, Promise<number>>();
  const counts = new Batch<Counted, number>({
    id: keyOf,
    organizationId: ({ within }) => within.organizationId,
    bytes: () => 0,
    inFlight: 1,
    rows: 1,
    async write([wanted]) {
      waiting.delete(keyOf(wanted!));
      return [await count(database, wanted!)];
    },
  });
  return (wanted) => {
    const key = keyOf(wanted);
    const known = waiting.get(key);
    if (known) return known;
    const counted = counts.add(wanted);
    waiting.set(key, counted);
    return counted;
  };
}

const keyOf = ({ within: { organizationId, reach }, projectId, ...rest }: Place): string =>
  JSON.stringify([organizationId, projectId, reach, rest]);

type Placing = { values: unknown[]; place: string | undefined; ofProject: string; inReach: string };

function placing({ within: { organizationId, reach }, projectId }: Place): Placing {
  const values: unknown[] = [organizationId];
  const place = projectId && `$${values.push(projectId)}`;
  const ofProject = place ? ` and project_id = ${place}` : "";
  const inReach = reach
    ? ` and (project_id = any ($${values.push(reach.projectIds)}::uuid[]) or agent_id = any ($${values.push(reach.agentIds)}::uuid[]))`
    : "";
  return { values, place, ofProject, inReach };
}

const nameOf = (what: string, { within, projectId }: Place): string =>
  `${what}${projectId ? "_of_project" : ""}${within.reach ? "_in_reach" : ""}`;

/**
 * The open runs of a project, or of what a key reaches, are looked for among the organization's: PostgreSQL has an index of
 * states, not of a project's states.
 */
async function countRuns(database: Database, wanted: Place): Promise<number> {
  const { values, ofProject, inReach } = placing(wanted);
  // Literals, and an order that only one index has: planned-lists.ts says why.
  const open = RUN_STATUSES.filter((status) => !isFinal(status)).map(
    (
      status,
    ) => `(select 1 from runs where organization_id between $1 and $1 and status = '${status}'${ofProject}${inReach}
      order by organization_id, id desc limit ${LIMITS.counted})`,
  );
  const [row] = await database.hot(
    nameOf("open_runs", wanted),
    `select count(*)::integer as count from (${open.join(" union all ")} limit ${LIMITS.counted}) as open_ones`,
    values,
    wanted.within.organizationId,
  );
  return (row as Row)["count"];
}

/** By the rule of who-decides.ts. */
async function countApprovals(database: Database, wanted: Place & { decider: Decider }): Promise<number> {
  const { values, place, inReach } = placing(wanted);
  const { decider } = wanted;
  const isFree = "excluded is null and quorum = 1 and assignees is null";
  let mine = isFree;
  if (decider.kind === "user") {
    const me = values.push(decider.id);
    const own = values.push(JSON.stringify([{ kind: "user", id: decider.id }]));
    const named = decider.mayOverride
      ? ""
      : ` and (assignees is null or assignees ?| $${values.push(decider.names)}::text[])`;
    mine = `(excluded is null or not excluded ? $${me}::text)${named} and (decisions is null or not decisions @> $${own}::jsonb)`;
  }
  const open = place
    ? `organization_id = $1 and project_id between ${place} and ${place} and status = 'open'${inReach} and ${mine} order by project_id, id`
    : `organization_id = $1${inReach} and status between 'open' and 'open' and ${mine} order by status, id`;
  const who = decider.kind === "key" ? "key" : decider.mayOverride ? "overseer" : "user";
  const [row] = await database.hot(
    nameOf(`open_approvals_of_${who}`, wanted),
    `select count(*)::integer as count from (select 1 from approvals where ${open} limit ${LIMITS.counted}) as open_ones`,
    values,
    wanted.within.organizationId,
  );
  return (row as Row)["count"];
}
