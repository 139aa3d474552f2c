/** Passing an open approval on to others, and who has done so. */
import { useState, type RefObject, type SubmitEvent } from "react";
import { Button, Modal, Textarea, TextInput } from "@mantine/core";
import { ReassignDocument, type ApprovalCardFragment } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import type { Refusal } from "../../api/refusal.ts";
import { useAct } from "../../api/use-act.ts";
import { useMay, type Me } from "../../api/use-may.ts";
import { Problem } from "../../components/notice.tsx";
import { useOnScreen } from "../../components/palette/on-screen.ts";
import { Time } from "../../components/time.tsx";
import { showInvisible } from "../../lib/invisible.ts";
import { useFocusBack } from "../../lib/use-focus-back.ts";
import { assigneesText, isInPlace, mayChooseAll, mayReassign } from "./who.ts";
import classes from "./approval-card.module.css";

type Props = { approval: ApprovalCardFragment };

/** Each time that it was passed on, with who did. */
export const Reassignments = ({ approval: { reassignments } }: Props) =>
  reassignments.length > 0 && (
    <ol className={classes["decisions"]} aria-label="Reassignments">
      {reassignments.map(({ by, at, from, to, comment, isOverride }) => (
        <li key={at}>
          <span>
            {by.name} reassigned it from {from.length > 0 ? assigneesText(from) : "anyone"} to {assigneesText(to)}{" "}
            <Time at={at} />
            {isOverride && <span className={classes["override"]}>in place of those assigned</span>}
            {comment && <>: “{showInvisible(comment)}”</>}
          </span>
        </li>
      ))}
    </ol>
  );

export function Reassign({ approval, name, card }: Props & { name: string; card: RefObject<HTMLElement | null> }) {
  const { me } = useMay();
  const [isAsking, setIsAsking] = useState(false);
  const isAllowed = me !== undefined && mayReassign(approval, me);
  const ask = (): void => setIsAsking(true);
  useOnScreen(isAllowed ? [{ word: `Reassign: ${name}`, act: ask }] : []);
  return (
    <>
      {isAllowed && (
        <div className="line">
          <Button variant="subtle" size="compact-md" onClick={ask}>
            Reassign
          </Button>
        </div>
      )}
      {isAsking && (
        <Dialog
          approval={approval}
          me={me!}
          onClose={() => setIsAsking(false)}
          onDone={() => {
            setIsAsking(false);
            // The button may be gone: who passed it on may not decide it any more.
            card.current?.focus({ preventScroll: true });
          }}
        />
      )}
    </>
  );
}

type DialogProps = Props & { me: Me; onClose: () => void; onDone: () => void };

function Dialog({ approval, me, onClose: close, onDone }: DialogProps) {
  const { act, isBusy, refusal } = useAct();
  const mutate = useMutate();
  useFocusBack();
  const { to, problem, field } = useNames(approval, me, refusal);
  const [comment, setComment] = useState("");
  const onClose = (): void => {
    if (!isBusy) close();
  };
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const input = { approvalId: approval.id, assignees: to, ...(comment && { comment }) };
    if (!isBusy && (await act(() => mutate(ReassignDocument, { input })))) onDone();
  };
  return (
    <Modal opened onClose={onClose} title="Reassign the approval" closeButtonProps={{ "aria-label": "Close" }}>
      <form noValidate className={classes["reassign"]} onSubmit={(event) => void submit(event)}>
        {refusal && problem === undefined && <Problem refusal={refusal} />}
        {isInPlace(approval, me) && (
          <p className="dim">You are not assigned: it is marked as done in their place, here and in the audit.</p>
        )}
        {field}
        <Textarea
          label="Comment"
          autosize
          minRows={1}
          maxRows={6}
          value={comment}
          onChange={(event) => setComment(event.currentTarget.value)}
        />
        <div className="line">
          <Button type="submit" loading={isBusy}>
            Reassign
          </Button>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
        </div>
      </form>
    </Modal>
  );
}

/** The field for those who decide from now on: all of them, or one in the place of the caller. */
function useNames(approval: ApprovalCardFragment, me: Me, refusal: Refusal | undefined) {
  const { assignees, quorum } = approval;
  const isAll = mayChooseAll(approval, me);
  const [text, setText] = useState(isAll ? assignees.join("\n") : "");
  const named = text.split(/[\s,;]+/).filter(Boolean);
  const own = me.email.toLowerCase();
  const to = isAll ? named : [...assignees.filter((one) => one !== own), ...named];
  const problem = refusal && problemOf(refusal, to);
  const given = { value: text, error: problem, autoComplete: "off", spellCheck: false, "data-autofocus": true };
  const field = isAll ? (
    <Textarea
      {...given}
      label="Who decides"
      description="One a line: the e-mail of a member, or a role such as role:editor. They take the place of those who are asked now."
      autosize
      minRows={2}
      maxRows={8}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  ) : (
    <TextInput
      {...given}
      label="Who decides in your place"
      description={`The e-mail of a member. ${quorum} have to approve, so you pass on your own place alone.`}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
  return { to, problem, field };
}

const PATH = "input.assignees";

/** The names that are refused, with why; undefined if the refusal is about something else. */
function problemOf({ fields }: Refusal, names: readonly string[]): string | undefined {
  const problems = fields
    .filter(({ path }) => path.startsWith(PATH))
    .map(({ path, message }) => {
      const name = names[Number(path.slice(PATH.length + 1))];
      return path === PATH || name === undefined ? message : `${name} ${message}`;
    });
  return problems.length > 0 ? problems.join("; ") : undefined;
}
