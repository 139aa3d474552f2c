/** An assistant as a conversation: what it was asked, what its model said, and the tools that it called. */
import { useEffect, useEffectEvent, useMemo, useState } from "react";
import { Button } from "@mantine/core";
import type { StepRowFragment } from "../../api/documents.ts";
import { refusalIn } from "../../api/refusal.ts";
import { JsonTable } from "../../components/json-table.tsx";
import { Loading } from "../../components/loading.tsx";
import { LongText } from "../../components/long-text.tsx";
import { Problem, TryAgain } from "../../components/notice.tsx";
import { countText } from "../../lib/counts.ts";
import { isObject, parseJson, type Json } from "../../lib/json.ts";
import { usageText, type ModelUsage } from "../../lib/model-usage.ts";
import classes from "./conversation.module.css";
import { Limits, type AssistantLimits } from "./limits.tsx";
import { LiveText } from "./live-text.tsx";
import { ToolCall, type Wish } from "./tool-call.tsx";
import { limitAsksOf, turnsOf, type LimitAsk, type Turn } from "./turns.ts";
import { useSaid } from "./use-said.ts";

/** The newest ones, at first: each is read by itself. */
const TURNS = 20;

/** A file may be in its URL. */
const FILE_CHARACTERS = 200;

/** The input of an assistant's step. */
type Asked = {
  instructions?: string;
  /** `files`: their URLs. */
  messages: { role: string; content: string; files?: string[] }[];
  limits?: AssistantLimits;
  /** The amounts that people have added to the limits. */
  granted?: AssistantLimits;
};
/** The output of a model's step. */
type Answer = { text: string; toolCalls: Wish[]; usage: ModelUsage };

type Props = {
  step: StepRowFragment;
  steps: readonly StepRowFragment[];
  /** The texts that models are writing, by the number of the step. */
  texts: ReadonlyMap<number, string>;
  /** The decisions of people, by the number of the step. */
  said: ReadonlyMap<number, string>;
  /** The use of models by the run and all runs below it. Undefined: other tasks of the run asked models, too. */
  usage: ModelUsage | null | undefined;
  now: number;
  onChoose: (number: number) => void;
};

export function Conversation({ step, steps, texts, said, usage, now, onChoose }: Props) {
  const turns = useMemo(() => turnsOf(steps, step.number), [steps, step.number]);
  const asks = useMemo(() => limitAsksOf(steps, step.number), [steps, step.number]);
  const [most, setMost] = useState(TURNS);
  const [{ data, error }, readAgain] = useSaid(step, step.startedAt !== null);
  const asked = data?.input as Asked | undefined;
  useReadWhenRaised(asks, readAgain);
  const earlier = Math.max(0, turns.length - most);
  return (
    <div className={classes["conversation"]}>
      <Limits {...{ step, turns, asks, usage, now }} limits={asked?.limits ?? {}} granted={asked?.granted ?? {}} />
      {error && <Problem refusal={refusalIn(error)} action={<TryAgain onClick={readAgain} />} />}
      <ol className={classes["turns"]}>
        {asked && <Opening {...asked} />}
        {!asked && !error && (
          <li>
            <Loading label="Loading the conversation" lines={3} />
          </li>
        )}
        {earlier > 0 && (
          <li>
            <Button variant="default" size="compact-sm" onClick={() => setMost(most + TURNS)}>
              Show {countText(Math.min(earlier, TURNS))} earlier
            </Button>
          </li>
        )}
        {inOrder(turns.slice(earlier), asks).map((part) =>
          "limit" in part ? (
            <AskedForMore key={part.step.number} ask={part} said={said.get(part.step.number)} />
          ) : (
            <ModelTurn
              key={part.model.number}
              turn={part}
              text={texts.get(part.model.number)}
              {...{ said, now, onChoose }}
            />
          ),
        )}
      </ol>
    </div>
  );
}

/** The step's input says what was added, once it is decided. */
function useReadWhenRaised(asks: readonly LimitAsk[], readAgain: () => void): void {
  const decided = asks.filter(({ step }) => step.finishedAt !== null).length;
  const read = useEffectEvent(readAgain);
  useEffect(() => {
    if (decided > 0) read();
  }, [decided]);
}

/** The turns that are shown, and the questions about limits after the first of them. */
function inOrder(turns: readonly Turn[], asks: readonly LimitAsk[]): (Turn | LimitAsk)[] {
  const first = turns[0]?.model.number ?? 0;
  const numberOf = (part: Turn | LimitAsk): number => ("limit" in part ? part.step.number : part.model.number);
  return [...turns, ...asks.filter(({ step }) => step.number > first)].toSorted((a, b) => numberOf(a) - numberOf(b));
}

/** The words of a limit: what there may be more of. */
const OF_LIMITS: Readonly<Record<string, string>> = { iterations: "questions", toolCalls: "tool calls" };

const AskedForMore = ({ ask: { step, limit }, said }: { ask: LimitAsk; said: string | undefined }) => (
  <li className={classes["turn"]}>
    <p className="dim">Asked a person for more {OF_LIMITS[limit] ?? limit}</p>
    <p>{said ?? (step.finishedAt === null ? "waits for a person" : "…")}</p>
  </li>
);

const ROLES: Readonly<Record<string, string>> = { system: "Instructions", user: "Asked", assistant: "Model" };

const Opening = ({ instructions, messages }: Asked) => (
  <>
    {instructions && (
      <li className={classes["turn"]}>
        <details>
          <summary className="dim">Instructions</summary>
          <Words text={instructions} />
        </details>
      </li>
    )}
    {messages.map(({ role, content, files = [] }, index) => (
      // oxlint-disable-next-line react/no-array-index-key -- they stay as they are
      <li key={index} className={classes["turn"]} data-role={role}>
        <p className="dim">{ROLES[role] ?? role}</p>
        <Words text={content} />
        {files.map((url) => (
          <code key={url} className={classes["short"]}>
            {url.slice(0, FILE_CHARACTERS)}
          </code>
        ))}
      </li>
    ))}
  </>
);

type TurnProps = Pick<Props, "said" | "now" | "onChoose"> & { turn: Turn; text: string | undefined };

function ModelTurn({ turn: { model, calls }, text, said, now, onChoose }: TurnProps) {
  const isOpen = model.finishedAt === null;
  const [{ data, error }, readAgain] = useSaid(model, !isOpen);
  const answer = data?.output as Answer | null | undefined;
  return (
    <li className={classes["turn"]} data-role="assistant">
      <p className="dim">Model{answer && ` · ${usageText(answer.usage)}`}</p>
      {error && <Problem refusal={refusalIn(error)} action={<TryAgain onClick={readAgain} />} />}
      {answer ? (
        <Words text={answer.text} />
      ) : model.error ? (
        <p className={classes["error"]}>{model.error.detail ?? model.error.title}</p>
      ) : text !== undefined ? (
        <LiveText text={text} />
      ) : (
        !error && <p className="dim">{isOpen ? "is thinking…" : "…"}</p>
      )}
      {answer?.toolCalls.map((wish, index) => (
        <ToolCall key={wish.id} wish={wish} call={calls.get(index + 1)} {...{ said, now, onChoose }} />
      ))}
    </li>
  );
}

/** A value if it is JSON with names, as the answers that fit a schema are. */
function Words({ text }: { text: string }) {
  if (text === "") return null;
  const value = valueIn(text);
  if (value !== undefined) return <JsonTable value={value} />;
  return (
    <div className={classes["words"]}>
      <LongText text={text} />
    </div>
  );
}

function valueIn(text: string): Json | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const value = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
