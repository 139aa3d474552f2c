/** Who may decide an approval, who has, and by when it is wanted. */
import { Button } from "@mantine/core";
import { useState } from "react";
import type { ApprovalCardFragment } from "../../api/documents.ts";
import { useMay } from "../../api/use-may.ts";
import { Confirm } from "../../components/confirm.tsx";
import { useOnScreen } from "../../components/palette/on-screen.ts";
import { StatusMark } from "../../components/status-mark.tsx";
import { Time } from "../../components/time.tsx";
import { showInvisible } from "../../lib/invisible.ts";
import { assigneesText, assigneeText, countText, isMe } from "./who.ts";
import classes from "./approval-card.module.css";

type Props = { approval: ApprovalCardFragment };

/** More are behind a button. */
const SHOWN = 5;

export function Who({ approval }: Props) {
  const { status, assignees, dueAt, expiresAt, escalatedAt } = approval;
  const count = countText(approval);
  const isOpen = status === "open";
  if (assignees.length === 0 && !count && !(isOpen && dueAt) && !escalatedAt) return null;
  return (
    <div className={classes["who"]}>
      {assignees.length > 0 && <Assignees assignees={assignees} />}
      {(count || (isOpen && dueAt) || escalatedAt) && (
        <p>
          {count && <span>{count}</span>}
          {isOpen && dueAt && dueAt !== expiresAt && (
            <span>
              due <Time at={dueAt} />
            </span>
          )}
          {escalatedAt && (
            <span>
              escalated <Time at={escalatedAt} />
            </span>
          )}
        </p>
      )}
    </div>
  );
}

function Assignees({ assignees }: { assignees: readonly string[] }) {
  const { me } = useMay();
  const [isWhole, setIsWhole] = useState(assignees.length <= SHOWN + 1);
  const shown = isWhole ? assignees : assignees.slice(0, SHOWN);
  return (
    <div className={classes["assignees"]}>
      <span>For</span>
      <ul aria-label="Who may decide">
        {shown.map((assignee) => (
          <li key={assignee} data-me={(me && isMe(assignee, me)) || undefined}>
            {assigneeText(assignee)}
            {me && isMe(assignee, me) && " (you)"}
          </li>
        ))}
      </ul>
      {!isWhole && (
        <Button variant="subtle" size="compact-sm" onClick={() => setIsWhole(true)}>
          and {assignees.length - shown.length} more
        </Button>
      )}
    </div>
  );
}

/** The decisions so far, with who made each. */
export const Decisions = ({ approval: { decisions } }: Props) => (
  <ol className={classes["decisions"]} aria-label="Decisions">
    {decisions.map(({ by, decision, comment, at, isOverride }) => (
      <li key={`${by.kind} ${by.id} ${at}`}>
        <StatusMark status={decision === "approve" ? "approved" : "rejected"} />
        <span>
          {by.name} <Time at={at} />
          {isOverride && <span className={classes["override"]}>in place of those assigned</span>}
          {comment && <>: “{showInvisible(comment)}”</>}
        </span>
      </li>
    ))}
  </ol>
);

/** For owners and admins whom nobody asked: the form comes once they have said that they mean it. */
export function DecideInPlace({ approval, name, onMeant }: Props & { name: string; onMeant: () => void }) {
  const { role } = useMay();
  const [isAsking, setIsAsking] = useState(false);
  const others = assigneesText(approval.assignees);
  const ask = (): void => setIsAsking(true);
  useOnScreen([{ word: `Decide in place of ${others}: ${name}`, act: ask }]);
  return (
    <>
      <p className="dim">You are not assigned. As {role} you can decide in their place.</p>
      <div className="line">
        <Button variant="default" className={classes["in-place"]} onClick={ask}>
          Decide in place of {others}
        </Button>
      </div>
      {isAsking && (
        <Confirm
          title="Decide in their place?"
          verb="Decide in their place"
          act={async () => onMeant()}
          onClose={() => setIsAsking(false)}
        >
          <p>
            This approval is for {assigneesText(approval.assignees, 5)}. Your decision counts at once, and is marked as
            one in their place, here and in the audit.
          </p>
        </Confirm>
      )}
    </>
  );
}
