/** A run that was read, and what becomes of it. */
import { useCallback, useEffect, useEffectEvent, useMemo, useRef, useSyncExternalStore } from "react";
import { Link, useNavigate } from "@tanstack/react-router";
import { Button } from "@mantine/core";
import {
  RunOutcomeDocument,
  RunUsageDocument,
  type ApprovalCardFragment,
  type RunHeadFragment,
  type RunPageQuery,
} from "../../api/documents.ts";
import { useRead } from "../../api/hooks.ts";
import { refusalIn, type Refusal } from "../../api/refusal.ts";
import { ApprovalCard } from "../../forms/approval/approval-card.tsx";
import { assigneesText, countText } from "../../forms/approval/who.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { JsonTable } from "../../components/json-table.tsx";
import { Problem, TryAgain } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { StatusMark } from "../../components/status-mark.tsx";
import { lookOf } from "../../lib/statuses.ts";
import { useStatusIcon } from "../../lib/use-status-icon.ts";
import { CancelRun, Starts } from "./actions.tsx";
import { Facts, fieldsIn } from "./facts.tsx";
import { Questions } from "./questions.tsx";
import { RunError } from "./run-error.tsx";
import type { RunView } from "./run-view.ts";
import { definedIn, type Change, type RunSearch } from "./search.ts";
import { Sentence } from "./sentence.tsx";
import { Steps } from "./steps.tsx";
import { useQuestions } from "./use-questions.ts";
import { useReadAgain } from "../../lib/use-read-again.ts";
import { FINAL, useRunView } from "./use-run-view.ts";
import classes from "./run.module.css";

type Read = NonNullable<RunPageQuery["run"]>;

export const IN_RUNS = [{ word: "Runs", to: "/runs" }] as const;

export function LoadedRun({ data, search }: { data: RunPageQuery; search: RunSearch }) {
  const run = data.run!;
  const { view, refusal, again } = useRunView(run);
  // Not with each step that changes.
  const head = useSyncExternalStore(view.head.watch, view.head.get);
  const { status, error } = head;
  useStatusIcon(status);
  const { refusal: unread, readOutcome } = useOutcome(run.id, status);
  useUsage(run.id, view);
  const show = useShow(run.id);
  const { asked, others, hasMoreAsked, hasMoreOthers } = useQuestions(data);
  const said = useMemo(() => saidIn(run.approvals.nodes), [run.approvals.nodes]);
  return (
    <div className="stack">
      <Head head={head} run={run} view={view} chosenStep={search.step} />
      {refusal && <NotFollowed refusal={refusal} onAgain={again} />}
      {unread && <Problem refusal={unread} action={<TryAgain onClick={readOutcome} />} />}
      {error && <RunError error={error} view={view} onShow={show} />}
      <Questions asked={asked} hasMore={hasMoreAsked} view={view} onDecided={readOutcome} />
      <Steps
        view={view}
        tasks={run.agentVersion.tasks}
        stepCount={run.stepCount}
        isOver={FINAL.has(status)}
        search={search}
        onShow={show}
        said={said}
      />
      {status === "completed" && run.output !== null && (
        <section aria-label="Output" className={classes["part"]}>
          <h2>Output</h2>
          <JsonTable value={run.output} />
        </section>
      )}
      <Input run={run} />
      {others.length > 0 && <EarlierApprovals approvals={others} hasMore={hasMoreOthers} />}
    </div>
  );
}

type HeadProps = { head: RunHeadFragment; run: Read; view: RunView; chosenStep: number | undefined };

/** The title of a run: its agent, its status, and the buttons that act on it. */
const Head = ({ head, run, view, chosenStep }: HeadProps) => {
  const { agent, status } = head;
  return (
    <PageHead
      path={[
        ...IN_RUNS,
        { word: agent.name, to: "/agents/$agentId", params: { agentId: agent.id }, search: { tab: "runs" } },
      ]}
      tabTitle={`${lookOf(status).word} · ${agent.name}`}
      title={agent.name}
      mark={<StatusMark status={status} />}
      facts={<Facts head={head} run={run} />}
    >
      <Starts run={head} view={view} chosenStep={chosenStep} />
      <CopyButton label="Copy link" text={location.href} size="compact-md" isIconWhenNarrow />
      <CancelRun id={run.id} status={status} />
    </PageHead>
  );
};

type EarlierProps = { approvals: readonly ApprovalCardFragment[]; hasMore: boolean };

/** Those that were decided before the page was opened. */
const EarlierApprovals = ({ approvals, hasMore }: EarlierProps) => (
  <section aria-label="Approvals" className={classes["part"]}>
    <h2>Approvals</h2>
    {approvals.map((approval) => (
      <ApprovalCard key={approval.id} approval={approval} />
    ))}
    {hasMore && (
      <Link to="/approvals" search={{ show: "decided" }} className="link">
        Earlier ones
      </Link>
    )}
  </section>
);

const Input = ({ run: { input, draftText } }: { run: Read }) =>
  (fieldsIn(input) > 0 || draftText !== null) && (
    <section aria-label="Input" className={classes["part"]}>
      <h2>Input</h2>
      {draftText !== null && <Sentence text={draftText} />}
      <JsonTable value={input} />
    </section>
  );

const NotFollowed = ({ refusal, onAgain }: { refusal: Refusal; onAgain: () => void }) => (
  <Problem
    refusal={refusal}
    action={
      <Button variant="default" size="compact-md" onClick={onAgain}>
        Follow the run again
      </Button>
    }
  />
);

/** The fields that the stream does not have are read when the status changes; the steps are not: the view has them. */
function useOutcome(id: string, status: string): { refusal: Refusal | undefined; readOutcome: () => void } {
  // Not by the client: while an answer is on its way it would give that one again, which may be of before the change.
  const [{ error }, readOutcome] = useRead({ query: RunOutcomeDocument, variables: { id }, pause: true });
  const told = useRef(status);
  const changed = useEffectEvent(readOutcome);
  useEffect(() => {
    if (status === told.current) return;
    told.current = status;
    changed();
  }, [status]);
  return { refusal: error && refusalIn(error), readOutcome };
}

/** Reads again, as models answer, how much of them the run has used. */
function useUsage(id: string, view: RunView): void {
  const steps = useSyncExternalStore(view.shown.watch, view.shown.get);
  const answered = steps.filter(({ kind, finishedAt }) => kind === "model" && finishedAt !== null).length;
  const [, readUsage] = useRead({ query: RunUsageDocument, variables: { id }, pause: true });
  useReadAgain(answered, readUsage);
}

/** Changes what stands in the address. */
function useShow(runId: string): (change: Change) => void {
  const navigate = useNavigate();
  return useCallback(
    (change) =>
      void navigate({
        to: "/runs/$runId",
        params: { runId },
        search: (before) => definedIn({ ...(before as RunSearch), ...change }),
        replace: true,
        resetScroll: false,
      }),
    [navigate, runId],
  );
}

/** The decision at a step, or who is waited for, by its number. */
const saidIn = (approvals: Read["approvals"]["nodes"]): ReadonlyMap<number, string> =>
  new Map(
    approvals.flatMap((approval) => {
      const { stepNumber, status, decidedBy, comment, assignees } = approval;
      const said =
        status === "open"
          ? [assignees.length > 0 && `waits for ${assigneesText(assignees)}`, countText(approval)]
              .filter(Boolean)
              .join(", ")
          : decidedBy && `${decidedBy.name} ${status}${comment ? `: “${comment}”` : ""}`;
      return said ? [[stepNumber, said] as const] : [];
    }),
  );
