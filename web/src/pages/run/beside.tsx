/** Stands beside the steps of a run: the step that is chosen, or what its newest assistant says. */
import type { RunHeadFragment, StepRowFragment } from "../../api/documents.ts";
import type { ModelUsage } from "../../lib/model-usage.ts";
import { Conversation } from "./conversation.tsx";
import { Inspector } from "./inspector.tsx";
import { nameOf } from "./rows.ts";
import classes from "./run.module.css";
import type { Change, Part } from "./search.ts";
import { isAssistant, isOnlyAsker } from "./turns.ts";

type Props = {
  steps: readonly StepRowFragment[];
  chosen: StepRowFragment | undefined;
  part: Part | undefined;
  texts: ReadonlyMap<number, string>;
  said: ReadonlyMap<number, string>;
  runError: RunHeadFragment["error"];
  /** The use of models by the run. */
  usage: ModelUsage | null;
  now: number;
  onShow: (change: Change) => void;
  onClose: () => void;
};

export function Beside({ steps, chosen, part, texts, said, runError, usage, now, onShow, onClose }: Props) {
  const assistant = chosen ? (isAssistant(chosen) ? chosen : undefined) : steps.findLast(isAssistant);
  const conversation = assistant && (
    <Conversation
      key={assistant.number}
      step={assistant}
      usage={isOnlyAsker(steps) ? usage : undefined}
      {...{ steps, texts, said, now }}
      onChoose={(step) => onShow({ step, part: undefined })}
    />
  );
  if (chosen)
    return (
      <Inspector
        step={chosen}
        text={texts.get(chosen.number)}
        conversation={conversation}
        {...{ runError, part, onClose }}
        onPart={(one) => onShow({ part: one })}
      />
    );
  if (!assistant) return null;
  return (
    <aside className={classes["conversation"]} aria-label={`Conversation of ${nameOf(assistant)}`}>
      <h2>Conversation of {nameOf(assistant)}</h2>
      {conversation}
    </aside>
  );
}
