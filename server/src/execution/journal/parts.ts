/** The parts of the statement (write.ts) that are the journal's own. */
import { RowSet } from "../../storage/unnest.ts";
import type { Part, PartRow } from "./part.ts";
import {
  APPROVAL,
  APPROVAL_CHANGE,
  ATTEMPT,
  LISTENER,
  MODEL_CALL,
  START,
  STEP,
  UNHEARD,
  UNLISTENED,
  UPDATE,
} from "./columns.ts";

type Columns = ConstructorParameters<typeof RowSet<PartRow>>[2];
const rowSet = (alias: string, type: string, columns: Columns): RowSet<PartRow> => new RowSet(alias, type, columns);

const RUNS = rowSet("given_run", "start_row", START);
const CHANGES = rowSet("change", "update_row", UPDATE);
const STEP_ROWS = rowSet("given_step", "step_row", STEP);
const ATTEMPT_ROWS = rowSet("given_attempt", "attempt_row", ATTEMPT);
const APPROVAL_ROWS = rowSet("given_approval", "mailed_approval_row", APPROVAL);
const APPROVAL_CHANGES = rowSet("decision", "approval_change_row", APPROVAL_CHANGE);

const MODEL_CALL_ROWS = rowSet("model_call", "model_call_row", MODEL_CALL);

const LISTENER_ROWS = rowSet("listener", "listener_row", LISTENER);
const UNLISTENED_ROWS = rowSet("unlistened", "unlistened_row", UNLISTENED);
const UNHEARD_ROWS = rowSet("unheard", "unheard_row", UNHEARD);

const pushAll = (from: readonly PartRow[], rows: PartRow[]): void => {
  for (const row of from) rows.push(row);
};

export const STARTS: Part = {
  code: "s",
  rows: RUNS,
  collect: ({ start }, rows) => void (start && rows.push(start)),
  sql: (from, { month, refused }) => `
      new_runs as materialized (
        select * from ${from}
        ${refused === "" ? "" : `where (given_run.id in (${refused})) is not true`}),
      written_runs as (
        insert into runs_${month} (${RUNS.list})
        select ${RUNS.selected} from new_runs as given_run
        on conflict do nothing)`,
};

export const UPDATES: Part = {
  code: "u",
  rows: CHANGES,
  collect: ({ update }, rows) => void (update && rows.push(update)),
  sql: (from, { month }) => `
      changed_runs as (
        update runs_${month} r set
          status = change.status, output = change.output, error = change.error,
          state = coalesce(change.state, r.state),
          started_at = coalesce(r.started_at, change.started_at), finished_at = change.finished_at,
          revision = change.revision, current_step = change.current_step, progress = change.progress,
          held_bytes = change.held_bytes,
          blamed = case when change.moved then 0 else r.blamed end,
          owner = case when change.release then null else r.owner end,
          wake_at = case
            when change.finished_at is not null then null
            when not change.release then r.wake_at
            when r.wake_seq <> change.wake_seq then change.now
            else change.wake_at end
        from ${from}
        where r.id = change.id and r.epoch = change.epoch and r.status = change.from_status
          and (not change.exact or r.wake_seq = change.wake_seq)
        returning r.id, r.wake_seq)`,
};

export const STEPS: Part = {
  code: "x",
  rows: STEP_ROWS,
  collect: ({ steps }, rows) => pushAll(steps, rows),
  sql: (from, { month }) => `
      written_steps as (
        insert into steps_${month} (${STEP_ROWS.list})
        select ${STEP_ROWS.selected} from ${from} where (given_step.run_id in (select id from live)) is true
        on conflict (run_id, number) do update set
          status = excluded.status, round = excluded.round, attempt = excluded.attempt, state = excluded.state,
          input = excluded.input, output = excluded.output, error = excluded.error, response = excluded.response, started_at = excluded.started_at,
          finished_at = excluded.finished_at, revision = excluded.revision)`,
};

export const ATTEMPTS: Part = {
  code: "t",
  rows: ATTEMPT_ROWS,
  collect: ({ attempts }, rows) => pushAll(attempts, rows),
  sql: (from, { month }) => `
      written_attempts as (
        insert into attempts_${month} (${ATTEMPT_ROWS.list})
        select ${ATTEMPT_ROWS.selected} from ${from} where (given_attempt.run_id in (select id from live)) is true
        on conflict do nothing)`,
};

export const APPROVALS: Part = {
  code: "p",
  rows: APPROVAL_ROWS,
  collect: ({ approvals }, rows) => pushAll(approvals, rows),
  sql: (from) => `
      written_approvals as (
        insert into approvals (${APPROVAL_ROWS.list})
        select ${APPROVAL_ROWS.selected} from ${from} where (given_approval.run_id in (select id from live)) is true
        on conflict do nothing)`,
};

const DECISIONS: Part = {
  code: "d",
  rows: APPROVAL_CHANGES,
  collect: ({ approvalChanges }, rows) => pushAll(approvalChanges, rows),
  sql: (from) => `
      changed_approvals as (
        update approvals a set status = decision.status, decided_at = decision.decided_at from ${from}
        where a.organization_id = decision.organization_id and a.id = decision.id and a.status = 'open'
          and (decision.run_id in (select id from live)) is true)`,
};

const MODEL_CALLS: Part = {
  code: "m",
  rows: MODEL_CALL_ROWS,
  collect: ({ modelCalls }, rows) => modelCalls && pushAll(modelCalls, rows),
  sql: (from) => `
      written_model_calls as (
        insert into model_calls (${MODEL_CALL_ROWS.list})
        select ${MODEL_CALL_ROWS.selected.replace("model_call.cost", "model_call.cost::numeric")} from ${from}
        where (model_call.run_id in (select id from live)) is true
        on conflict do nothing)`,
};

const LISTENERS: Part = {
  code: "l",
  rows: LISTENER_ROWS,
  collect: ({ listeners }, rows) => listeners && pushAll(listeners, rows),
  sql: (from) => `
      written_listeners as (
        insert into listeners (${LISTENER_ROWS.list})
        select ${LISTENER_ROWS.selected} from ${from} where (listener.run_id in (select id from live)) is true
        on conflict do nothing)`,
};

const UNLISTENS: Part = {
  code: "v",
  rows: UNLISTENED_ROWS,
  collect: ({ unlistened }, rows) => unlistened && pushAll(unlistened, rows),
  sql: (from) => `
      left_steps as materialized (
        select * from ${from} where (unlistened.run_id in (select id from live)) is true),
      deleted_listeners as (
        delete from listeners l using left_steps o
         where l.organization_id = o.organization_id and l.run_id = o.run_id and l.step_number = o.step_number),
      deleted_heard as (
        delete from heard_events h using left_steps o
         where h.organization_id = o.organization_id and h.run_id = o.run_id and h.step_number = o.step_number)`,
};

const UNHEARS: Part = {
  code: "y",
  rows: UNHEARD_ROWS,
  collect: ({ unheard }, rows) => unheard && pushAll(unheard, rows),
  sql: (from) => `
      seen_events as (
        delete from heard_events h using ${from}
         where h.organization_id = unheard.organization_id and h.run_id = unheard.run_id
           and h.step_number = unheard.step_number and h.event_id = unheard.event_id
           and (unheard.run_id in (select id from live)) is true)`,
};

/** In the order of the statement: the run, then what is written only with it. */
export const JOURNAL_PARTS: readonly Part[] = [
  STARTS,
  UPDATES,
  STEPS,
  ATTEMPTS,
  APPROVALS,
  DECISIONS,
  MODEL_CALLS,
  LISTENERS,
  UNLISTENS,
  UNHEARS,
];
