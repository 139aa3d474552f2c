/** The page of a mailed link: one question, decided without an account. Nothing is decided before a button is pressed. */
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { Button, Textarea } from "@mantine/core";
import { decideLinkedApproval, readLinkedApproval, type LinkedApproval as Approval } from "../../api/approval-link.ts";
import type { Decision } from "../../api/documents.ts";
import { isPassing } from "../../api/hooks.ts";
import { useAct } from "../../api/use-act.ts";
import { Entrance } from "../../components/entrance.tsx";
import { JsonTable } from "../../components/json-table.tsx";
import { Loading } from "../../components/loading.tsx";
import { Problem, TryAgain } from "../../components/notice.tsx";
import { StatusMark } from "../../components/status-mark.tsx";
import { Time } from "../../components/time.tsx";
import { InputForm } from "../../forms/input-form.tsx";
import { valuesFrom } from "../../forms/values.ts";
import { showInvisible } from "../../lib/invisible.ts";
import classes from "./linked-approval.module.css";

export function LinkedApproval({ token }: { token: string }) {
  const [approval, setApproval] = useState<Approval>();
  const { act, refusal } = useAct();
  const read = useEffectEvent(() => act(async () => setApproval(await readLinkedApproval(token))));
  useEffect(() => void read(), []);
  if (refusal)
    return (
      <Entrance title={isPassing(refusal) ? "Approval" : "This link cannot be used"}>
        <Problem refusal={refusal} action={isPassing(refusal) && <TryAgain onClick={() => location.reload()} />} />
        {!isPassing(refusal) && (
          <p className="dim">
            The question may have been given to others, or you are no longer one of those who decide it. Sign in to see
            what waits for you.
          </p>
        )}
      </Entrance>
    );
  if (!approval)
    return (
      <Entrance title="Approval">
        <Loading label="Loading the question" lines={4} />
      </Entrance>
    );
  return <Asked approval={approval} token={token} onDecided={setApproval} />;
}

type AskedProps = { approval: Approval; token: string; onDecided: (approval: Approval) => void };

function Asked({ approval, token, onDecided }: AskedProps) {
  const { agent, organization, you, question, context, status, createdAt, expiresAt, canDecide } = approval;
  const result = useRef<HTMLDivElement>(null);
  const [isDone, setIsDone] = useState(false);
  // The button that had the focus is gone.
  useEffect(() => {
    if (isDone) result.current?.focus();
  }, [isDone]);
  return (
    <Entrance
      title={status === "open" ? "Your decision is wanted" : "This question is closed"}
      lead={`${agent}, an agent of ${organization}, asks ${you.name} (${you.email}).`}
      isWide
    >
      <p className={classes["facts"]}>
        <StatusMark status={status} />
        <span className="dim">
          asked <Time at={createdAt} />
          {status === "open" && expiresAt && (
            <>
              , expires <Time at={expiresAt} />
            </>
          )}
        </span>
      </p>
      <h2 className={classes["question"]}>{showInvisible(question)}</h2>
      {context !== null && <JsonTable value={context} />}
      <div ref={result} tabIndex={-1} role="status" className={classes["result"]}>
        <Result approval={approval} />
      </div>
      {canDecide && (
        <DecisionForm
          approval={approval}
          token={token}
          onDecided={(next) => {
            onDecided(next);
            setIsDone(true);
          }}
        />
      )}
    </Entrance>
  );
}

/** The decisions so far, and what follows. */
function Result({ approval }: { approval: Approval }) {
  const { decisions, canDecide, status } = approval;
  return (
    <>
      {decisions.length > 0 && (
        <ol className={classes["decisions"]} aria-label="Decisions">
          {decisions.map(({ by, isYou, decision, comment, at, isOverride }) => (
            <li key={`${by} ${at}`}>
              <StatusMark status={decision === "approve" ? "approved" : "rejected"} />
              <span>
                {isYou ? "You" : by}, <Time at={at} />
                {isOverride && " (in place of those assigned)"}
                {comment && <>: “{showInvisible(comment)}”</>}
              </span>
            </li>
          ))}
        </ol>
      )}
      {(!canDecide || status !== "open") && <p>{whatFollows(approval)}</p>}
    </>
  );
}

const FOLLOWS: Record<Exclude<Approval["status"], "open">, string> = {
  approved: "The run goes on. There is nothing left to do here.",
  rejected: "The run knows. There is nothing left to do here.",
  expired: "Nobody decided in time. There is nothing left to do here.",
  withdrawn: "The run has ended, and nobody has to decide any longer.",
};

function whatFollows({ status, decisions, quorum }: Approval): string {
  if (status !== "open") return FOLLOWS[status];
  const left = quorum - decisions.filter(({ decision }) => decision === "approve").length;
  if (!decisions.some(({ isYou }) => isYou)) return "It can no longer be decided.";
  return left === 1 ? "One more approval is needed." : `${left} more approvals are needed.`;
}

/** Those who approve after the first approve the same. A tool call's arguments are changed in the inbox alone. */
function DecisionForm({ approval, token, onDecided }: AskedProps) {
  const { decisions, answer, toolCall, you } = approval;
  const isAnswered = decisions.some(({ decision }) => decision === "approve");
  const fields = isAnswered || toolCall ? [] : approval.fields;
  const [comment, setComment] = useState("");
  return (
    <InputForm
      fields={fields}
      initial={valuesFrom(fields)}
      sendsFields={(verb) => verb === "approve"}
      send={async (values, verb) => {
        const decision = verb as Decision;
        const given = decision === "reject" ? undefined : isAnswered ? answer : toolCall ? undefined : values;
        const isSent = given !== undefined && (isAnswered || fields.length > 0);
        onDecided(
          await decideLinkedApproval(token, {
            decision,
            ...(comment && { comment }),
            ...(isSent && { answer: given }),
          }),
        );
      }}
    >
      {(isSending) => (
        <>
          {isAnswered && answer !== null && (
            <div>
              <p className="dim">Others have approved this answer, and you approve the same.</p>
              <JsonTable value={answer} />
            </div>
          )}
          <Textarea
            label="Comment"
            autosize
            minRows={1}
            maxRows={6}
            value={comment}
            onChange={(event) => setComment(event.currentTarget.value)}
          />
          <div className="line">
            <Button type="submit" value="approve" loading={isSending}>
              Approve
            </Button>
            <Button type="submit" value="reject" variant="default" disabled={isSending}>
              Reject
            </Button>
          </div>
          <p className="dim">You decide as {you.name}. This cannot be taken back.</p>
        </>
      )}
    </InputForm>
  );
}
