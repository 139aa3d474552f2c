/** A turn of a conversation: what the model says, and the tools that it calls. */
import { memo } from "react";
import type { StepRowFragment } from "../../api/documents.ts";
import { refusalIn } from "../../api/refusal.ts";
import { JsonTable } from "../../components/json-table.tsx";
import { LongText } from "../../components/long-text.tsx";
import { Problem, TryAgain } from "../../components/notice.tsx";
import { isObject, parseJson, type Json } from "../../lib/json.ts";
import { usageText, type ModelUsage } from "../../lib/model-usage.ts";
import classes from "./conversation.module.css";
import { LiveText, useTextUntil } from "./live-text.tsx";
import type { RunView } from "./run-view.ts";
import { ToolCall, type Wish } from "./tool-call.tsx";
import { isSameTurn, type Turn } from "./turns.ts";
import { useSaid } from "./waits.tsx";

/** The output of a model's step. */
type Answer = { text: string; toolCalls: Wish[]; usage: ModelUsage };

type Props = {
  turn: Turn;
  view: RunView;
  /** The decisions of people, by the number of the step. */
  said: ReadonlyMap<number, string>;
  /** For calls that last; 0 where none does. */
  now: number;
  onChoose: (number: number) => void;
};

/** Drawn again when something in it changes, and not with each step of the run. */
export const ModelTurn = memo(
  ({ turn: { model, calls }, view, said, now, onChoose }: Props) => {
    const [{ data, error }, readAgain] = useSaid(model, model.finishedAt !== null);
    const answer = data?.output as Answer | null | undefined;
    return (
      <>
        <p className="dim">Model{answer && ` · ${usageText(answer.usage)}`}</p>
        {error && <Problem refusal={refusalIn(error)} action={<TryAgain onClick={readAgain} />} />}
        <Saying model={model} answer={answer} view={view} isRefused={error !== undefined} />
        {answer?.toolCalls.map((wish, index) => (
          <ToolCall key={wish.id} wish={wish} call={calls.get(index + 1)} {...{ said, now, onChoose }} />
        ))}
      </>
    );
  },
  (one, other) =>
    isSameTurn(one.turn, other.turn) &&
    one.said === other.said &&
    one.now === other.now &&
    one.onChoose === other.onChoose,
);
ModelTurn.displayName = "ModelTurn";

type SayingProps = { model: StepRowFragment; answer: Answer | null | undefined; view: RunView; isRefused: boolean };

function Saying({ model: { number, error, finishedAt }, answer, view, isRefused }: SayingProps) {
  const text = useTextUntil(view, number, Boolean(answer ?? error));
  if (answer) return <Words text={answer.text} />;
  if (error) return <p className={classes["error"]}>{error.detail ?? error.title}</p>;
  if (text !== undefined) return <LiveText text={text} />;
  return isRefused ? null : <p className="dim">{finishedAt === null ? "is thinking…" : "…"}</p>;
}

/** A value if it is JSON with names, as the answers that fit a schema are. */
export function Words({ text }: { text: string }) {
  if (text === "") return null;
  const value = valueIn(text);
  if (value !== undefined) return <JsonTable value={value} />;
  return (
    <div className={classes["words"]} dir="auto">
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
