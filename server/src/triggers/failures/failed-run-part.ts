/**
 * Notes that a run which a trigger started has failed, if somebody gets a mail about it: in the statement that writes its end, so it is
 * counted even if this process dies. `mail-failures.ts` takes the rows.
 */
import type { Follower } from "../../execution/journal/part.ts";
import type { AgentId, OrganizationId, RunId } from "../../lib/ids.ts";
import { ms, nullable, RowSet, uuid, type RowOf } from "../../storage/unnest.ts";

const FAILED = {
  run_id: uuid<RunId>(),
  organization_id: uuid<OrganizationId>(),
  /** Null: the run has a row. */
  agent_id: nullable(uuid<AgentId>()),
  at: ms(),
};
const ROWS = new RowSet<RowOf<typeof FAILED>>("given_failure", "failed_run_row", FAILED);

export type FailedRuns = {
  /** Whether the server sends mail. */
  isOn: boolean;
  /** After a commit of such rows. Set by `mailFailures`. */
  look: () => void;
};

export const failedRunPart = (failedRuns: FailedRuns): Follower => ({
  code: "e",
  rows: ROWS as unknown as Follower["rows"],
  collect({ organizationId, runId, start, update }, rows): void {
    const run = start ?? update;
    if (!failedRuns.isOn || run?.status !== "failed") return;
    if (start && start.started_by_kind !== "trigger") return;
    const row: RowOf<typeof FAILED> = {
      run_id: runId,
      organization_id: organizationId,
      agent_id: start?.agent_id ?? null,
      at: run.finished_at!,
    };
    rows.push(row);
  },
  sql: (from, { month }) => `
      noted_failures as (
        insert into failed_runs (run_id, organization_id, agent_id, at)
        select given_failure.run_id, m.organization_id, m.agent_id, given_failure.at
          from ${from}
          left join runs_${month} r
            on given_failure.agent_id is null and r.id = given_failure.run_id and r.started_by_kind = 'trigger'
          join failure_mails m on m.organization_id = given_failure.organization_id
            and m.agent_id = coalesce(given_failure.agent_id, r.agent_id) and m.user_ids <> '{}'
         where (given_failure.run_id in (select id from live)) is true
        on conflict do nothing)`,
  afterCommit: () => failedRuns.look(),
});
