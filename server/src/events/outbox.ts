/**
 * The outbox of the service's own events: the statement that ends a run or opens a question also writes a row here, where
 * anybody in the organization listens, and one if people are to be mailed about a question. So it is told even if this process dies;
 * publish-own-events.ts takes and tells the rows.
 */
import type { ApprovalId, OrganizationId, RunId } from "../lib/ids.ts";
import type { RunStatus } from "../storage/schema.ts";
import type { Query } from "../storage/database.ts";
import { ms, RowSet, text, uuid, type RowOf } from "../storage/unnest.ts";
import { insertNotice, insertUntold, type ApprovalEvent, type Notice } from "./outbox-store.ts";
import type { OwnEvent } from "./own-source.ts";

const UNTOLD = {
  organization_id: uuid<OrganizationId>(),
  event: text(),
  /** The run, or the approval. */
  subject_id: uuid<string>(),
  run_id: uuid<RunId>(),
  at: ms(),
};

const ROWS = new RowSet<RowOf<typeof UNTOLD>>("given_event", "untold_row", UNTOLD);

/** The event of each status in which a run ends. */
const ENDS: Record<RunStatus, OwnEvent | undefined> = {
  pending: undefined,
  running: undefined,
  paused: undefined,
  completed: "run.completed",
  failed: "run.failed",
  cancelled: "run.cancelled",
};

type Written = { status: RunStatus; finished_at: number | null };

/** The facts that a write makes true. */
type Happened = {
  organizationId: OrganizationId;
  runId: RunId;
  start?: Written;
  update?: Written;
  approvals: readonly { id: ApprovalId; status: string; created_at: number; notify: boolean }[];
};

export type Outbox = {
  /**
   * Whether anybody in the organization listens to such events. From memory, as it is asked in the hot path; true in doubt: what nobody
   * listens to is dropped later.
   */
  isHeard: (organizationId: OrganizationId, event: OwnEvent) => boolean;
  /** After a commit of such rows: publishes them at once. Set by `publishOwnEvents`. */
  look: () => void;
};

type ApprovalNews = { organizationId: OrganizationId; event: ApprovalEvent; subjectId: ApprovalId; at: Date };

const noticeOf = (event: ApprovalEvent): Notice => event.replace("approval.", "mail.") as Notice;

/** For what happens to an approval after it was requested: call it in the transaction that makes it true, and the result after its commit. */
export const approvalNews =
  (outbox: Outbox, hasMail: boolean) =>
  async (query: Query, news: ApprovalNews): Promise<() => void> => {
    const isHeard = outbox.isHeard(news.organizationId, news.event);
    if (isHeard) await insertUntold(query, news);
    const isMailed = hasMail && (await insertNotice(query, { ...news, event: noticeOf(news.event) }));
    return () => {
      if (isHeard || isMailed) outbox.look();
    };
  };

/** A part of the statement that writes runs (`Follower` in execution/journal/part.ts). `hasMail`: whether mail can be sent. */
export const outboxPart = (outbox: Outbox, hasMail: boolean) => ({
  code: "n",
  rows: ROWS as unknown as RowSet<Record<string, unknown>>,
  collect({ organizationId, runId, start, update, approvals }: Happened, rows: Record<string, unknown>[]): void {
    const write = (event: OwnEvent | Notice, subjectId: string, at: number): void => {
      const row: RowOf<typeof UNTOLD> = {
        organization_id: organizationId,
        event,
        subject_id: subjectId,
        run_id: runId,
        at,
      };
      rows.push(row);
    };
    const add = (event: OwnEvent, subjectId: string, at: number): void => {
      if (outbox.isHeard(organizationId, event)) write(event, subjectId, at);
    };
    const run = start ?? update;
    const end = run && ENDS[run.status];
    if (end) add(end, runId, run.finished_at!);
    for (const { id, status, created_at: at, notify } of approvals) {
      if (status !== "open") continue;
      add("approval.requested", id, at);
      if (notify && hasMail) write("mail.requested", id, at);
    }
  },
  sql: (from: string) => `
      written_events as (
        insert into untold_events (${ROWS.list})
        select ${ROWS.selected} from ${from} where (given_event.run_id in (select id from live)) is true
        on conflict do nothing)`,
  afterCommit: () => outbox.look(),
});
