/** A question to a person: what it is about, the form, and the decision. Afterwards: who decided what. */
import { useEffect, useEffectEvent, useMemo, useRef, useState, type RefObject } from "react";
import { Button, Textarea } from "@mantine/core";
import type { ApprovalCardFragment, Decision } from "../../api/documents.ts";
import { VERBS, type Made } from "../../api/decisions.ts";
import { useApi } from "../../api/hooks.ts";
import { useMay } from "../../api/use-may.ts";
import { InputForm } from "../input-form.tsx";
import { withArticle } from "../../components/notice.tsx";
import { JsonTable } from "../../components/json-table.tsx";
import { useOnScreen } from "../../components/palette/on-screen.ts";
import { StatusMark } from "../../components/status-mark.tsx";
import { Time } from "../../components/time.tsx";
import { hasInvisible, showInvisible, showInvisibleInJson } from "../../lib/invisible.ts";
import { isObject, objectIn, problemInObject, type Json, type JsonObject } from "../../lib/json.ts";
import { useKeys } from "../../lib/use-keys.ts";
import { canSay, valuesFrom, type FormField, type Values } from "../values.ts";
import classes from "./approval-card.module.css";
import { DecideInPlace, Decisions, Who } from "./people.tsx";
import { Reassign, Reassignments } from "./reassign.tsx";
import { useDecision } from "./use-decision.ts";
import { isAnswered, isInPlace, whyNot } from "./who.ts";

type Props = {
  approval: ApprovalCardFragment;
  /** Called when it is decided here. The decision can be taken back until it is sent. */
  onMade?: (() => void) | undefined;
  /** Called when it is decided, here or elsewhere. */
  onDecided?: (() => void) | undefined;
  /** When keys decide: `list`: while the list has it open; `card`: while it has the focus. */
  keys?: "list" | "card" | undefined;
  /** Below its line, which says the question and when it was asked. */
  isInList?: boolean;
};

export function ApprovalCard({ approval, onMade, onDecided, keys, isInList = false }: Props) {
  const { id, status, question, context, stepNumber, canDecide, toolCall } = approval;
  const assignee = noteOf(approval);
  // Several steps of a run may ask the same; a list has one open at a time.
  const name = isInList ? question : `${question} Step ${stepNumber}`;
  const card = useRef<HTMLElement>(null);
  const { decisions } = useApi();
  const made = useDecision(id);
  const isOpen = status === "open";
  const wasOpen = useWasOpen(isOpen, onDecided);
  const { me } = useMay();
  const [isMeant, setIsMeant] = useState(made !== undefined || decisions.keptOf(id) !== undefined);
  const asksFirst = isOpen && !made && !isMeant && isInPlace(approval, me);
  const isDecidable = isOpen && canDecide && !made && !asksFirst;
  useKeysOfCard(card, { name, isDecidable, hasKeys: keys === "card" });
  return (
    <section
      ref={card}
      className={classes["card"]}
      data-status={status}
      data-keys={keys}
      aria-label={`Approval: ${name}`}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- its keys decide once it has the focus
      tabIndex={keys === "card" && isOpen ? 0 : -1}
    >
      {!isInList && <Head approval={approval} />}
      <div className={isInList ? classes["below"] : undefined}>
        <h2 className={isInList ? "visually-hidden" : classes["question"]}>{showInvisible(question)}</h2>
        {isInList && assignee && <p className="dim">For {assignee}</p>}
        {/* Said when it is decided while somebody looks. */}
        <div role="status">
          {!isOpen && <Decided approval={approval} isOthers={wasOpen && !decisions.isTakenFromHere(id)} />}
        </div>
      </div>
      <Who approval={approval} />
      <Reassignments approval={approval} />
      {isOpen && approval.decisions.length > 0 && <Decisions approval={approval} />}
      {/* A tool call that is decided here stands in its form. */}
      {context !== null && !(toolCall && isDecidable && !isAnswered(approval)) && (
        <Context value={contextOf(approval, made?.input.answer ?? approval.answer)} isOpen={isOpen} />
      )}
      {isOpen && made && <p className="dim">{VERBS[made.input.decision].now}. It is sent in a moment.</p>}
      {isOpen && !canDecide && !made && <MayNot approval={approval} />}
      {asksFirst && (
        <DecideInPlace
          approval={approval}
          name={name}
          onMeant={() => {
            setIsMeant(true);
            card.current?.focus({ preventScroll: true });
          }}
        />
      )}
      {isDecidable && <DecisionForm approval={approval} onMade={onMade} hasKeys={keys !== undefined} card={card} />}
      {isOpen && !made && <Reassign approval={approval} name={name} card={card} />}
    </section>
  );
}

/** A word of the author's about who should decide, where it names nobody. */
const noteOf = ({ assignee, assignees }: ApprovalCardFragment): string | null =>
  assignees.length > 0 ? null : assignee;

/** The context of a question. While a decision waits to be sent, it has the arguments that a person gave the tool. */
function contextOf({ context, toolCall }: ApprovalCardFragment, answer: Json | undefined): Json {
  const given = toolCall ? argumentsIn(answer) : undefined;
  return given !== undefined && isObject(context) ? { ...context, arguments: given } : context;
}

const argumentsIn = (answer: Json | undefined): Json | undefined =>
  isObject(answer) ? answer["arguments"] : undefined;

const Context = ({ value, isOpen }: { value: Json; isOpen: boolean }) =>
  isOpen ? (
    <JsonTable value={value} />
  ) : (
    <details>
      <summary className="dim">Context</summary>
      <JsonTable value={value} />
    </details>
  );

/** Decides by `a` and `r` while the card has the focus, and from the palette. */
function useKeysOfCard(
  card: RefObject<HTMLElement | null>,
  { name, isDecidable, hasKeys }: { name: string; isDecidable: boolean; hasKeys: boolean },
): void {
  const press = (verb: Decision): void =>
    card.current?.querySelector<HTMLButtonElement>(`button[value="${verb}"]`)?.click();
  const pressFocused = (verb: Decision) => (): void => {
    if (card.current?.contains(document.activeElement)) press(verb);
  };
  useKeys(hasKeys && isDecidable ? { a: pressFocused("approve"), r: pressFocused("reject") } : {});
  useOnScreen(
    isDecidable
      ? [
          { word: `Approve: ${name}`, act: () => press("approve") },
          { word: `Reject: ${name}`, act: () => press("reject") },
        ]
      : [],
  );
}

const Head = ({ approval }: { approval: ApprovalCardFragment }) => {
  const { status, stepNumber, createdAt, expiresAt } = approval;
  const assignee = noteOf(approval);
  return (
    <div className={classes["head"]}>
      <StatusMark status={status} />
      <span className="dim">
        step {stepNumber}, asked <Time at={createdAt} />
        {assignee && `, for ${assignee}`}
        {status === "open" && expiresAt && (
          <>
            , expires <Time at={expiresAt} />
          </>
        )}
      </span>
    </div>
  );
};

/** Whether it was open when it was first shown. Tells when it no longer is. */
function useWasOpen(isOpen: boolean, onDecided: (() => void) | undefined): boolean {
  const [wasOpen] = useState(isOpen);
  const isTold = useRef(!isOpen);
  const tell = useEffectEvent(() => onDecided?.());
  useEffect(() => {
    if (isOpen || isTold.current) return;
    isTold.current = true;
    tell();
  }, [isOpen]);
  return wasOpen;
}

function MayNot({ approval }: { approval: ApprovalCardFragment }) {
  const { may, role, me } = useMay();
  return (
    <p className="dim">
      {may("approvals:decide")
        ? me && whyNot(approval, me)
        : `You may read this, but not decide it. Owners, admins, editors and runners may${role ? `; you are ${withArticle(role)} here` : ""}.`}
    </p>
  );
}

type Asked = {
  fields: readonly FormField[];
  /** `answer`: of a decision that was taken back or refused. */
  initial: (answer?: Json) => Values;
  answerOf: (values: JsonObject) => Json;
};

/** The form of an answer, or that of a tool call's arguments, which is empty if it can't say or can't show all of them. */
function askedOf(approval: ApprovalCardFragment): Asked {
  const { answerFields, toolCall, answer } = approval;
  // Those who approve after the first approve the same.
  if (isAnswered(approval)) return { fields: [], initial: () => ({}), answerOf: () => answer };
  if (!toolCall)
    return {
      fields: answerFields,
      initial: (answer) => valuesFrom(answerFields, answer),
      answerOf: (values) => values,
    };
  const { argumentFields } = toolCall;
  const isShown = !hasInvisible(JSON.stringify(toolCall.arguments));
  const fields = isShown && canSay(argumentFields, toolCall.arguments) ? argumentFields : [];
  return {
    fields,
    initial: (answer) => valuesFrom(fields, argumentsIn(answer) ?? toolCall.arguments),
    answerOf: (values) => ({ arguments: values }),
  };
}

type FormProps = Pick<Props, "approval" | "onMade"> & { hasKeys: boolean; card: RefObject<HTMLElement | null> };

/** Begins with the answers of a decision that was taken back or refused. */
function DecisionForm({ approval, onMade, hasKeys, card }: FormProps) {
  const { id, question } = approval;
  const { fields, initial, answerOf } = useMemo(() => askedOf(approval), [approval]);
  const keyOf = (key: string) => hasKeys && <Key>{key}</Key>;
  const { decisions } = useApi();
  const [kept] = useState(() => decisions.keptOf(id));
  const answered = isAnswered(approval) ? approval.answer : undefined;
  const written = useArguments(
    answered === undefined ? approval.toolCall : null,
    fields,
    kept?.input.answer ?? undefined,
  );
  const [comment, setComment] = useState(kept?.input.comment ?? "");
  useFocusOnKept(card, kept);
  return (
    <InputForm
      fields={fields}
      initial={initial(kept?.input.answer ?? undefined)}
      refused={kept?.refusal}
      sendsFields={(verb) => verb === "approve"}
      send={async (answer, verb) => {
        const decision = verb as Decision;
        const isApproval = decision === "approve";
        if (isApproval && written.isWrong()) return;
        const given = !isApproval ? undefined : fields.length > 0 ? answerOf(answer) : (answered ?? written.answer);
        decisions.make(
          { approvalId: id, decision, ...(comment && { comment }), ...(given !== undefined && { answer: given }) },
          question,
        );
        if (card.current?.contains(document.activeElement)) card.current.focus({ preventScroll: true });
        onMade?.();
      }}
    >
      {(isSending) => (
        <>
          {answered != null && !approval.toolCall && <AnswerOfOthers value={answered} />}
          {written.field}
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

/** The button of a decision that was taken back or refused replaces the one that had the focus. */
function useFocusOnKept(card: FormProps["card"], kept: Made | undefined): void {
  useEffect(() => {
    if (kept && [document.body, card.current].includes(document.activeElement as HTMLElement))
      card.current?.querySelector<HTMLElement>(`button[value="${kept.input.decision}"]`)?.focus();
  }, [card, kept]);
}

const AnswerOfOthers = ({ value }: { value: Json }) => (
  <div>
    <p className="dim">Others have approved this answer, and you approve the same.</p>
    <JsonTable value={value} />
  </div>
);

/**
 * The arguments of a tool call that no form can say or show, as JSON: they are sent if they were changed. `isWrong` shows why they
 * can't be, and puts the focus there.
 */
function useArguments(
  toolCall: ApprovalCardFragment["toolCall"],
  fields: readonly FormField[],
  kept: Json | undefined,
) {
  const given = toolCall && fields.length === 0 ? toolCall.arguments : undefined;
  const [before] = useState(() => (given === undefined ? "" : jsonOf(given)));
  const [isRewritten] = useState(() => given !== undefined && before !== JSON.stringify(given, null, 2));
  const [text, setText] = useState(() => {
    const mine = argumentsIn(kept);
    return mine === undefined ? before : jsonOf(mine);
  });
  const [tries, setTries] = useState(0);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (tries > 0) area.current?.focus();
  }, [tries]);
  // Nothing is no object here: the tool would be called without arguments.
  const problem = given === undefined ? undefined : text.trim() === "" ? "is required" : problemInObject(text);
  return {
    answer: text === before ? undefined : { arguments: objectIn(text)! },
    isWrong: (): boolean => {
      if (problem) setTries(tries + 1);
      return problem !== undefined;
    },
    field: given !== undefined && (
      <Textarea
        ref={area}
        label="Arguments"
        description={`The tool is called with this JSON object.${isRewritten ? " Characters that nobody sees stand there by their numbers." : ""}`}
        minRows={2}
        maxRows={16}
        autosize
        autoComplete="off"
        data-monospace
        value={text}
        error={tries > 0 && problem ? `Arguments ${problem}` : undefined}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    ),
  };
}

const jsonOf = (value: Json): string => showInvisibleInJson(JSON.stringify(value, null, 2));

const Key = ({ children }: { children: string }) => (
  <span className={classes["key"]} aria-hidden="true">
    {children}
  </span>
);

/** `isOthers`: somebody else decided first. */
function Decided({ approval, isOthers }: { approval: ApprovalCardFragment; isOthers: boolean }) {
  const { status, decidedBy, decidedAt, comment, answer, decisions } = approval;
  const isListed = decisions.length > 1 || decisions.some(({ isOverride }) => isOverride);
  return (
    <div className={classes["decided"]}>
      {isListed && <Decisions approval={approval} />}
      {!isListed && decidedBy && decidedAt && (
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
