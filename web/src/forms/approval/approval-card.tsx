/** A question to a person: what it is about, the form, and the decision. Afterwards: who decided what. */
import { useRef, useState } from "react";
import { Button, Textarea } from "@mantine/core";
import { DecideDocument, type ApprovalCardFragment, type Decision } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { useMay } from "../../api/use-may.ts";
import { InputForm } from "../input-form.tsx";
import { withArticle } from "../../components/notice.tsx";
import { JsonTable } from "../../components/json-table.tsx";
import { useOnScreen } from "../../components/palette/on-screen.ts";
import { StatusMark } from "../../components/status-mark.tsx";
import { Time } from "../../components/time.tsx";
import classes from "./approval-card.module.css";

type Props = {
  approval: ApprovalCardFragment;
  onDecided?: (() => void) | undefined;
  /** The page takes `a` and `r`. */
  hasKeys?: boolean;
  /** Below its line, which says the question and when it was asked. */
  isInList?: boolean;
};

export function ApprovalCard({ approval, onDecided, hasKeys = false, isInList = false }: Props) {
  const { status, question, context, assignee, createdAt, expiresAt, canDecide } = approval;
  const card = useRef<HTMLElement>(null);
  const [wasOpen] = useState(status === "open");
  const [isOurs, setIsOurs] = useState(false);
  const isOpen = status === "open";
  const press = (verb: Decision): void =>
    card.current?.querySelector<HTMLButtonElement>(`button[value="${verb}"]`)?.click();
  useOnScreen(
    isOpen && canDecide
      ? [
          { word: `Approve: ${question}`, act: () => press("approve") },
          { word: `Reject: ${question}`, act: () => press("reject") },
        ]
      : [],
  );
  return (
    <section ref={card} className={classes["card"]} data-status={status} aria-label={`Approval: ${question}`}>
      {!isInList && (
        <div className={classes["head"]}>
          <StatusMark status={status} />
          <span className="dim">
            asked <Time at={createdAt} />
            {assignee && `, for ${assignee}`}
            {isOpen && expiresAt && (
              <>
                , expires <Time at={expiresAt} />
              </>
            )}
          </span>
        </div>
      )}
      <div className={isInList ? classes["below"] : undefined}>
        <h2 className={isInList ? "visually-hidden" : classes["question"]}>{question}</h2>
        {isInList && assignee && <p className="dim">For {assignee}</p>}
        {/* Said when it is decided while somebody looks. */}
        <div role="status">{!isOpen && <Decided approval={approval} isOthers={wasOpen && !isOurs} />}</div>
      </div>
      {context !== null &&
        (isOpen ? (
          <JsonTable value={context} />
        ) : (
          <details>
            <summary className="dim">Context</summary>
            <JsonTable value={context} />
          </details>
        ))}
      {isOpen &&
        (canDecide ? (
          <DecisionForm approval={approval} onDecided={onDecided} hasKeys={hasKeys} onDeciding={setIsOurs} />
        ) : (
          <MayNot />
        ))}
    </section>
  );
}

function MayNot() {
  const { may, role } = useMay();
  return (
    <p className="dim">
      {may("approvals:decide")
        ? "It can no longer be decided."
        : `You may read this, but not decide it. Owners, admins, editors and runners may${role ? `; you are ${withArticle(role)} here` : ""}.`}
    </p>
  );
}

type FormProps = Props & { onDeciding: (isOurs: boolean) => void };

function DecisionForm({ approval: { id, answerFields }, onDecided, hasKeys, onDeciding }: FormProps) {
  const keyOf = (key: string) => hasKeys && <Key>{key}</Key>;
  const mutate = useMutate();
  const [comment, setComment] = useState("");
  return (
    <InputForm
      fields={answerFields}
      sendsFields={(verb) => verb === "approve"}
      send={async (answer, verb) => {
        const decision = verb as Decision;
        const withAnswer = decision === "approve" && answerFields.length > 0;
        // The answer is shown before the promise ends.
        onDeciding(true);
        try {
          await mutate(DecideDocument, {
            input: { approvalId: id, decision, ...(comment && { comment }), ...(withAnswer && { answer }) },
          });
        } catch (error) {
          onDeciding(false);
          throw error;
        }
        onDecided?.();
      }}
    >
      {(isSending) => (
        <>
          <Textarea
            label="Comment"
            autosize
            minRows={1}
            maxRows={6}
            value={comment}
            onChange={(event) => setComment(event.currentTarget.value)}
          />
          <div className="line">
            <Button type="submit" value="approve" loading={isSending} rightSection={keyOf("a")}>
              Approve
            </Button>
            <Button type="submit" value="reject" variant="default" disabled={isSending} rightSection={keyOf("r")}>
              Reject
            </Button>
          </div>
        </>
      )}
    </InputForm>
  );
}

const Key = ({ children }: { children: string }) => (
  <span className={classes["key"]} aria-hidden="true">
    {children}
  </span>
);

/** `isOthers`: somebody was faster than whoever has the page open. */
function Decided({ approval, isOthers }: { approval: ApprovalCardFragment; isOthers: boolean }) {
  const { status, decidedBy, decidedAt, comment, answer } = approval;
  return (
    <div className={classes["decided"]}>
      {decidedBy && decidedAt && (
        <p>
          {isOthers && "Already decided: "}
          {decidedBy.name} {status} this <Time at={decidedAt} />
          {comment && <>: “{comment}”</>}
        </p>
      )}
      {answer !== null && <JsonTable value={answer} />}
    </div>
  );
}
