/** One step: what went in, what came out, why it failed, and each attempt. Read when it is opened, and again when the step changes. */
import { useEffect, useEffectEvent, useMemo, useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { ActionIcon, Button, SegmentedControl } from "@mantine/core";
import {
  StepDetailDocument,
  type RunHeadFragment,
  type StepDetailQuery,
  type StepDetailQueryVariables,
  type StepRowFragment,
} from "../../api/documents.ts";
import { useRead } from "../../api/hooks.ts";
import { refusalIn, type Refusal } from "../../api/refusal.ts";
import { Icon, SHAPES } from "../../components/icon.tsx";
import { JsonView } from "../../components/json-view.tsx";
import { Loading } from "../../components/loading.tsx";
import { Problem, TryAgain } from "../../components/notice.tsx";
import { StatusMark } from "../../components/status-mark.tsx";
import { Time } from "../../components/time.tsx";
import { countText } from "../../lib/counts.ts";
import { shortId } from "../../lib/ids.ts";
import { parseJson } from "../../lib/json.ts";
import { costText, usageParts, type ModelUsage } from "../../lib/model-usage.ts";
import { durationText } from "../../lib/times.ts";
import classes from "./inspector.module.css";
import { endOf, useTextUntil } from "./live-text.tsx";
import { nameOf } from "./rows.ts";
import type { RunView } from "./run-view.ts";
import type { Part } from "./search.ts";
import { kindOf } from "./step-kinds.ts";

type Detail = Extract<NonNullable<StepDetailQuery["node"]>, { id: string }>;

/** The newest ones, at first. */
const ATTEMPTS = 20;
const MORE_ATTEMPTS = 100;

type Props = {
  step: StepRowFragment;
  view: RunView;
  /** It is on the page already. */
  runError: RunHeadFragment["error"];
  /** Undefined: what tells most. */
  part: Part | undefined;
  onPart: (part: Part) => void;
  onClose: () => void;
  /** The words of an assistant and its tools. */
  conversation?: ReactNode;
};

export function Inspector({ step, view, runError, part, onPart, onClose, conversation }: Props) {
  const { id, number, status, kind, error, child, attemptCount } = step;
  const { shape } = kindOf(step);
  const has = { conversation: conversation !== undefined, error: error !== null };
  const shown = shownPart(part, has);
  return (
    <aside className={classes["inspector"]} data-part={shown} aria-label={`Step ${number}`}>
      <div className={classes["head"]}>
        <h2>
          {number} {nameOf(step)}
        </h2>
        <span className="dim">
          {shape && <Icon shape={shape} size={14} />} {kind}
        </span>
        <StatusMark status={status} />
        <ActionIcon variant="subtle" color="gray" aria-label="Close the step" onClick={onClose} ml="auto">
          <Icon shape={SHAPES.close} />
        </ActionIcon>
      </div>
      {child && (
        <p className="line">
          Started{" "}
          <Link to="/runs/$runId" params={{ runId: child.id }} className="link">
            {shortId(child.id)}
          </Link>{" "}
          <StatusMark status={child.status} />
        </p>
      )}
      <SegmentedControl
        size="xs"
        aria-label="Part of the step"
        value={shown}
        data={[
          ...(has.conversation ? [{ value: "conversation", label: "Conversation" } as const] : []),
          { value: "output", label: "Output" },
          { value: "input", label: "Input" },
          ...(has.error ? [{ value: "error", label: "Error" } as const] : []),
          { value: "attempts", label: `Attempts ${countText(attemptCount)}` },
        ]}
        onChange={(value) => onPart(value)}
      />
      {shown === "conversation" ? conversation : <PartOfStep key={id} {...{ step, view, runError }} part={shown} />}
    </aside>
  );
}

/** The wanted part if the step has it, else what tells most. */
function shownPart(wanted: Part | undefined, has: { conversation: boolean; error: boolean }): Part {
  const isThere = wanted !== undefined && ((wanted !== "conversation" && wanted !== "error") || has[wanted]);
  if (isThere) return wanted;
  return has.conversation ? "conversation" : has.error ? "error" : "output";
}

type ReadPart = Exclude<Part, "conversation">;
type PartProps = Pick<Props, "step" | "view" | "runError"> & { part: ReadPart };

/** A part of the step. The last answer stays until the next is there, and so does the text that a model has written. */
function PartOfStep({ step, view, part, runError }: PartProps) {
  const { id, number, kind, status, finishedAt, attemptCount } = step;
  const [most, setMost] = useState(ATTEMPTS);
  const earlier = Math.max(0, attemptCount - most);
  const [{ detail, refusal, of, readAgain }, setRead] = useState<Read>(UNREAD);
  const state = `${status} ${attemptCount} ${most}`;
  const text = useTextUntil(view, number, finishedAt !== null && of === state);
  const words = part === "output" ? (text ?? textIn(kind, detail?.output)) : undefined;
  return (
    <>
      {/* Read again when the step changes. */}
      <Reader key={state} of={state} asked={{ id, attempts: most, after: earlier }} onRead={setRead} />
      {refusal && <Problem refusal={refusal} action={<TryAgain onClick={readAgain} />} />}
      {detail?.totalUsage ? <Used {...detail.totalUsage} /> : text !== undefined && <p className="dim">is writing…</p>}
      {part === "attempts" && earlier > 0 && (
        <Button variant="default" size="compact-sm" onClick={() => setMost(most + MORE_ATTEMPTS)}>
          Show earlier attempts
        </Button>
      )}
      {words !== undefined ? (
        <JsonView
          text={text === undefined ? words : endOf(words)}
          label={part}
          file={`step-${number}-${part}.txt`}
          isGrowing={text !== undefined}
        />
      ) : detail ? (
        <Shown detail={detail} number={number} part={part} runError={runError} />
      ) : (
        !refusal && <Loading label="Loading the step" lines={3} />
      )}
      {detail?.log && (part === "output" || part === "error") && (
        <JsonView text={detail.log} label="console" file={`step-${number}-console.txt`} />
      )}
    </>
  );
}

/** The answer of a model, and lines of text, are shown as they are, not as JSON. */
const textIn = (kind: string, value: unknown): string | undefined =>
  typeof value === "string" && (kind === "llm" || value.includes("\n")) ? value : undefined;

const Used = (usage: ModelUsage) => (
  <p className="dim">{[usageParts(usage), costText(usage.cost, usage.currency)].filter(Boolean).join(" · ")}</p>
);

/** `of`: the state of the step that it is known for. */
type Read = {
  of?: string | undefined;
  detail?: Detail | undefined;
  refusal?: Refusal | undefined;
  readAgain: () => void;
};
const UNREAD: Read = { readAgain: () => undefined };

type ReaderProps = { of: string; asked: StepDetailQueryVariables; onRead: (update: (before: Read) => Read) => void };

function Reader({ of, asked, onRead }: ReaderProps) {
  const [state, readAgain] = useRead({
    query: StepDetailDocument,
    variables: asked,
    requestPolicy: "cache-and-network",
  });
  const tell = useEffectEvent(({ data, error, stale }: typeof state): void => {
    const detail = (data?.node ?? undefined) as Detail | undefined;
    if (!detail && !error) return;
    const refusal = error && refusalIn(error);
    onRead((before) => ({ of: stale ? before.of : of, detail: detail ?? before.detail, refusal, readAgain }));
  });
  useEffect(() => tell(state), [state]);
  return null;
}

type ShownProps = { detail: Detail; number: number; part: ReadPart; runError: Props["runError"] };

function Shown({ detail, number, part, runError }: ShownProps) {
  if (part === "attempts") return <Attempts attempts={detail.attempts} number={number} />;
  if (part === "error") return <StepError detail={detail} number={number} isAbove={isSame(detail.error, runError)} />;
  const value = detail[part];
  if (value === null) return <p className="dim">None.</p>;
  return <Value value={value} label={part} file={`step-${number}-${part}.json`} />;
}

/** A step is drawn several times a second while its run is open; a value of a megabyte is put into lines once. */
function Value({ value, ...of }: { value: unknown; label: string; file: string }) {
  const text = useMemo(() => JSON.stringify(value, null, 2), [value]);
  return <JsonView text={text} {...of} />;
}

type Failure = Pick<NonNullable<Detail["error"]>, "type" | "title" | "detail">;

const isSame = (one: Failure | null, other: Failure | null): boolean =>
  one?.type === other?.type && one?.title === other?.title && one?.detail === other?.detail;

/** `isAbove`: it is the run's error as well, which the page shows first. */
function StepError({
  detail: { error, attempts },
  number,
  isAbove,
}: {
  detail: Detail;
  number: number;
  isAbove: boolean;
}) {
  if (!error) return <p className="dim">None.</p>;
  const response = attempts.at(-1)?.response;
  // The part that it adds to the run's error, which is above.
  if (isAbove && !response?.body)
    return attempts.length > 1 ? (
      <Attempts attempts={attempts} number={number} />
    ) : (
      <p className="dim">This error ended the run. It is shown above.</p>
    );
  return (
    <>
      {!isAbove && (
        <div className={classes["error"]}>
          <p>
            <strong>{error.title ?? error.type.split("/").at(-1)}</strong> {error.status}
          </p>
          {error.detail && <p>{withoutBody(error.detail, response?.body)}</p>}
        </div>
      )}
      {response?.body && (
        <JsonView text={legible(response.body)} label="response" file={`step-${number}-response.json`} />
      )}
    </>
  );
}

function Attempts({ attempts, number: step }: { attempts: Detail["attempts"]; number: number }) {
  if (attempts.length === 0) return <p className="dim">None yet.</p>;
  return (
    <ol className={classes["attempts"]}>
      {attempts.map(({ number, status, startedAt, finishedAt, error, response }) => (
        <li key={number}>
          <div className="line">
            <span className="dim">{number}</span>
            <StatusMark status={status} />
            {response && <span>HTTP {response.status}</span>}
            {startedAt && finishedAt && (
              <span className="dim">
                {durationText(Date.parse(finishedAt) - Date.parse(startedAt))}, <Time at={startedAt} />
              </span>
            )}
          </div>
          {error && <p>{withoutBody(error.detail ?? error.title ?? "", response?.body)}</p>}
          {response?.body && (
            <JsonView
              text={legible(response.body)}
              label={attempts.length === 1 ? "response" : `response ${number}`}
              file={`step-${step}-response-${number}.json`}
            />
          )}
        </li>
      ))}
    </ol>
  );
}

/** It stands below by itself. */
const withoutBody = (detail: string, body: string | null | undefined): string =>
  body ? detail.replace(`: ${body}`, "") : detail;

/** JSON in lines, anything else as it came. */
function legible(body: string): string {
  try {
    return JSON.stringify(parseJson(body), null, 2);
  } catch {
    return body;
  }
}
