/** An approval in the list; it opens by a click or by Enter, with its card below. */
import { memo } from "react";
import { Link } from "@tanstack/react-router";
import type { ApprovalCardFragment } from "../../api/documents.ts";
import { StatusMark } from "../../components/status-mark.tsx";
import type { Column } from "../../components/table/table.tsx";
import { moveIn } from "../../components/table/use-list-keys.ts";
import { Time } from "../../components/time.tsx";
import { useDecision } from "../../forms/approval/use-decision.ts";
import { ApprovalCard } from "../../forms/approval/approval-card.tsx";
import { countText } from "../../forms/approval/who.ts";
import { argumentsText } from "../../lib/arguments-text.ts";
import { showInvisible } from "../../lib/invisible.ts";
import classes from "./approvals.module.css";

export const columnsOf = (isDecided: boolean): readonly Column[] => [
  { word: "Status", className: classes["status"] },
  { word: "Question", className: classes["question"] },
  { word: "Agent", className: classes["agent"] },
  { word: isDecided ? "By" : "Time left", className: classes["left"] },
  { word: isDecided ? "Decided" : "Asked", className: classes["when"] },
];

/** Characters, as long as it is not open. */
const MAX_ASKED = 200;
const beginningOf = (question: string): string =>
  question.length > MAX_ASKED ? `${question.slice(0, MAX_ASKED)}…` : question;

type Props = {
  approval: ApprovalCardFragment;
  isOpen: boolean;
  onToggle: (id: string) => void;
  onMade: (id: string) => void;
};

export const ApprovalRow = memo(function ApprovalRow({ approval, isOpen, onToggle, onMade }: Props) {
  const { id, status, question, toolCall, agent, createdAt, expiresAt, decidedBy, decidedAt } = approval;
  const made = useDecision(id);
  const count = status === "open" ? countText(approval) : undefined;
  return (
    <>
      <tr data-chosen={isOpen || undefined}>
        <td className={classes["status"]}>
          <StatusMark status={made && status === "open" ? made.input.decision : status} />
        </td>
        <td className={classes["question"]}>
          <button
            type="button"
            data-line={id}
            aria-expanded={isOpen}
            onKeyDown={(event) => {
              const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
              if (by === 0) return;
              event.preventDefault();
              moveIn(event.currentTarget.closest("table"), by);
            }}
            onClick={() => onToggle(id)}
          >
            {showInvisible(isOpen ? question : beginningOf(question))}
            {toolCall && status === "open" && <span> {argumentsText(toolCall.arguments)}</span>}
            {count && <span> {count}</span>}
          </button>
        </td>
        <td className={classes["agent"]}>{agent.name}</td>
        <td className={classes["left"]}>
          {decidedBy ? decidedBy.name : status === "open" && expiresAt ? <Time at={expiresAt} /> : null}
        </td>
        <td className={classes["when"]}>
          <Time at={decidedAt ?? createdAt} />
        </td>
      </tr>
      {isOpen && (
        <tr data-card={id} className={classes["card"]}>
          <td colSpan={columnsOf(false).length}>
            <ApprovalCard approval={approval} isInList keys="list" onMade={() => onMade(id)} />
            <Link to="/runs/$runId" params={{ runId: approval.run.id }} className="link">
              Open the run
            </Link>
          </td>
        </tr>
      )}
    </>
  );
});
