/** The approvals that wait, before the steps. `a` and `r` decide the one that has the focus. */
import { useSyncExternalStore } from "react";
import { Link } from "@tanstack/react-router";
import { ApprovalsChangedDocument, type ApprovalCardFragment } from "../../api/documents.ts";
import { useLive } from "../../api/hooks.ts";
import { ApprovalCard } from "../../forms/approval/approval-card.tsx";
import { countText } from "../../lib/counts.ts";
import type { RunView } from "./run-view.ts";
import { kindOf } from "./step-kinds.ts";
import classes from "./run.module.css";

type Props = {
  asked: readonly ApprovalCardFragment[];
  /** More are open than these. */
  hasMore: boolean;
  view: RunView;
  onDecided: () => void;
};

export function Questions({ asked, hasMore, view, onDecided }: Props) {
  // A decision of several and a reassignment leave the run as it is, so its stream does not tell of them.
  const isShared = asked.some(
    ({ status, quorum, assignees }) => status === "open" && (quorum > 1 || assignees.length > 0),
  );
  useLive(ApprovalsChangedDocument, { projectId: null }, { pause: !isShared, onMissed: onDecided });
  if (asked.length === 0) return null;
  return (
    <div className={classes["asked"]}>
      {asked.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} keys="card" onDecided={onDecided} />
      ))}
      {hasMore && <More shown={asked.filter(({ status }) => status === "open").length} view={view} />}
    </div>
  );
}

/** Those after them come when these are decided. */
function More({ shown, view }: { shown: number; view: RunView }) {
  const steps = useSyncExternalStore(view.shown.watch, view.shown.get);
  const open = steps.filter((step) => kindOf(step).isQuestion && step.status === "paused").length;
  return (
    <p>
      and {open > shown ? `${countText(open - shown)} more` : "more"}:{" "}
      <Link to="/approvals" className="link">
        all that wait for a decision
      </Link>
    </p>
  );
}
