/** An assistant's limits: where each stands. */
import type { StepRowFragment } from "../../api/documents.ts";
import { countText } from "../../lib/counts.ts";
import { costText, usageParts, type ModelUsage } from "../../lib/model-usage.ts";
import { durationText } from "../../lib/times.ts";
import classes from "./conversation.module.css";
import { callCount, workedMs, type LimitAsk, type Turn } from "./turns.ts";

export type AssistantLimits = {
  iterations?: number;
  toolCalls?: number;
  tokens?: number;
  seconds?: number;
  cost?: number;
};

type Props = {
  step: StepRowFragment;
  turns: readonly Turn[];
  asks: readonly LimitAsk[];
  /** As the author wrote them, and what people have added. */
  limits: AssistantLimits;
  granted: AssistantLimits;
  /** Undefined: not known yet. Null: no model has answered. */
  usage: ModelUsage | null | undefined;
  /** All turns are read. */
  isWhole: boolean;
  now: number;
};

export function Limits({ step, turns, asks, limits, granted, usage, isWhole, now }: Props) {
  const most = (name: keyof AssistantLimits): number | undefined => {
    const written = limits[name];
    return written === undefined ? undefined : written + (granted[name] ?? 0);
  };
  const seconds = most("seconds");
  const { inputTokens = 0, outputTokens = 0, cost = null, currency = null } = usage ?? {};
  const known = <Value,>(value: Value): Value | undefined => (usage === undefined ? undefined : value);
  const ofTurns = (count: (all: readonly Turn[]) => number): number | undefined => (isWhole ? count(turns) : undefined);
  const money = (amount: number): string => costText(amount, currency) ?? countText(amount);
  return (
    <dl className={classes["limits"]}>
      <Stand name="Questions" is={turns.at(-1)?.number ?? 0} most={most("iterations")} />
      <Stand name="Tool calls" is={ofTurns(callCount)} most={most("toolCalls")} />
      <Stand
        name="Tokens"
        is={known(inputTokens + outputTokens)}
        most={most("tokens")}
        title={usage && usageParts(usage)}
      />
      {cost !== null && <Stand name="Cost" is={cost} most={most("cost")} text={money} />}
      {seconds !== undefined && (
        <Stand
          name="Time"
          is={ofTurns((all) => workedMs(step, all, asks, now))}
          most={seconds * 1_000}
          text={durationText}
        />
      )}
    </dl>
  );
}

/** From this share of a limit on it is worth a look. */
const NEAR = 0.8;

type StandProps = {
  name: string;
  /** Undefined: not known yet. */
  is: number | undefined;
  most: number | undefined;
  text?: (value: number) => string;
  title?: string | null | undefined;
};

const Stand = ({ name, is, most, text = countText, title }: StandProps) => (
  <div title={title ?? undefined}>
    <dt>{name}</dt>
    <dd
      data-near={
        is !== undefined && most !== undefined && is >= most * NEAR ? (is >= most ? "reached" : "near") : undefined
      }
    >
      {is === undefined ? "…" : text(is)}
      {most !== undefined && ` of ${text(most)}`}
    </dd>
  </div>
);
