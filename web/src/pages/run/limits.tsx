/** An assistant's limits: where each stands. */
import type { StepRowFragment } from "../../api/documents.ts";
import { countText } from "../../lib/counts.ts";
import { costText, type ModelUsage } from "../../lib/model-usage.ts";
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
  /** Undefined: not known of the assistant alone. */
  usage: ModelUsage | null | undefined;
  now: number;
};

export function Limits({ step, turns, asks, limits, granted, usage, now }: Props) {
  const limitOf = (name: keyof AssistantLimits): number | undefined => {
    const written = limits[name];
    return written === undefined ? undefined : written + (granted[name] ?? 0);
  };
  const seconds = limitOf("seconds");
  const most = (limit: number | undefined, text: (limit: number) => string = countText): string =>
    limit === undefined ? "" : ` of ${text(limit)}`;
  const { currency = null } = usage ?? {};
  const spent = usage && costText(usage.cost, currency);
  const stands: readonly (readonly [string, string])[] = [
    ["Questions", countText(turns.length) + most(limitOf("iterations"))],
    ["Tool calls", countText(callCount(turns)) + most(limitOf("toolCalls"))],
    ...(usage
      ? [["Tokens", countText(usage.inputTokens + usage.outputTokens) + most(limitOf("tokens"))] as const]
      : []),
    ...(spent ? [["Cost", spent + most(limitOf("cost"), (limit) => costText(limit, currency)!)] as const] : []),
    ...(seconds === undefined
      ? []
      : [["Time", durationText(workedMs(step, turns, asks, now)) + most(seconds * 1_000, durationText)] as const]),
  ];
  return (
    <dl className={classes["limits"]}>
      {stands.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
