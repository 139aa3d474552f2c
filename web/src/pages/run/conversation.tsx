/** An assistant as a conversation: what it was asked, what its model said, and the tools that it called. */
import { useEffect, useEffectEvent, useMemo } from "react";
import { StepUsageDocument, type StepRowFragment } from "../../api/documents.ts";
import { useRead } from "../../api/hooks.ts";
import { refusalIn } from "../../api/refusal.ts";
import { Loading } from "../../components/loading.tsx";
import { Problem, TryAgain } from "../../components/notice.tsx";
import type { ModelUsage } from "../../lib/model-usage.ts";
import { useReadAgain } from "../../lib/use-read-again.ts";
import classes from "./conversation.module.css";
import { Limits, type AssistantLimits } from "./limits.tsx";
import { nameOf } from "./rows.ts";
import type { RunView } from "./run-view.ts";
import { Talk, type Opening } from "./talk.tsx";
import { countOver, limitAsksOf, turnsOf, type LimitAsk, type Turn } from "./turns.ts";
import { useSaid } from "./waits.tsx";

/** The input of an assistant's step. */
type Asked = Opening & {
  limits?: AssistantLimits;
  /** The amounts that people have added to the limits. */
  granted?: AssistantLimits;
};

type Props = {
  step: StepRowFragment;
  steps: readonly StepRowFragment[];
  /** How many the run had when it was read. */
  stepCount: number;
  view: RunView;
  /** The decisions of people, by the number of the step. */
  said: ReadonlyMap<number, string>;
  now: number;
  onChoose: (number: number) => void;
};

export function Conversation({ step, steps, stepCount, view, said, now, onChoose }: Props) {
  const turns = useMemo(() => turnsOf(steps, step.number), [steps, step.number]);
  const asks = useMemo(() => limitAsksOf(steps, step.number), [steps, step.number]);
  const [{ data, error }, readAgain] = useSaid(step, step.startedAt !== null);
  const usage = useUsage(step, turns);
  const asked = data?.input as Asked | undefined;
  useReadWhenRaised(asks, readAgain);
  const newest = steps.at(-1)?.number ?? 0;
  return (
    <div className={classes["conversation"]}>
      <Limits
        {...{ step, turns, asks, usage, now }}
        limits={asked?.limits ?? {}}
        granted={asked?.granted ?? {}}
        isWhole={newest === steps.length}
      />
      {error && <Problem refusal={refusalIn(error)} action={<TryAgain onClick={readAgain} />} />}
      {(asked || error) && newest >= stepCount ? (
        <Talk
          name={nameOf(step)}
          isLive={step.finishedAt === null}
          opening={asked}
          {...{ turns, asks, view, said, now, onChoose }}
        />
      ) : (
        <Loading label="Loading the conversation" lines={5} />
      )}
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

/** The use of models by the assistant so far, with the runs that its tools started. Undefined: it was not read yet. */
function useUsage({ id }: StepRowFragment, turns: readonly Turn[]): ModelUsage | null | undefined {
  const [{ data }, readAgain] = useRead({
    query: StepUsageDocument,
    variables: { id },
    requestPolicy: "cache-and-network",
  });
  useReadAgain(countOver(turns), readAgain);
  const step = data?.node as { totalUsage: ModelUsage | null } | null | undefined;
  return step?.totalUsage;
}
