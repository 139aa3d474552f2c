/** What waits for a person, before the steps. `a` and `r` decide the first that is open. */
import { useRef, useSyncExternalStore } from "react";
import { Link } from "@tanstack/react-router";
import type { ApprovalCardFragment } from "../../api/documents.ts";
import { ApprovalCard } from "../../forms/approval/approval-card.tsx";
import { countText } from "../../lib/counts.ts";
import { useKeys } from "../../lib/use-keys.ts";
import type { RunView } from "./run-view.ts";
import classes from "./run.module.css";

type Props = {
  asked: readonly ApprovalCardFragment[];
  /** More are open than these. */
  hasMore: boolean;
  view: RunView;
  onDecided: () => void;
};

export function Questions({ asked, hasMore, view, onDecided }: Props) {
  const cards = useRef<HTMLDivElement>(null);
  const first = asked.find(({ status, canDecide }) => status === "open" && canDecide)?.id;
  const press = (verb: "approve" | "reject"): void =>
    cards.current?.querySelector<HTMLButtonElement>(`button[value="${verb}"]`)?.click();
  useKeys(first === undefined ? {} : { a: () => press("approve"), r: () => press("reject") });
  if (asked.length === 0) return null;
  return (
    <div ref={cards} className={classes["asked"]}>
      {asked.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} hasKeys={approval.id === first} onDecided={onDecided} />
      ))}
      {hasMore && <More shown={asked.filter(({ status }) => status === "open").length} view={view} />}
    </div>
  );
}

/** Those after them come when these are decided. */
function More({ shown, view }: { shown: number; view: RunView }) {
  const steps = useSyncExternalStore(view.shown.watch, view.shown.get);
  const open = steps.filter(({ kind, status }) => kind === "approval" && status === "paused").length;
  return (
    <p>
      and {open > shown ? `${countText(open - shown)} more` : "more"}:{" "}
      <Link to="/approvals" className="link">
        all that wait for a decision
      </Link>
    </p>
  );
}
