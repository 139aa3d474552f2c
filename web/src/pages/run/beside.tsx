/** Stands beside the steps of a run: the step that is chosen, or what its newest assistant says. */
import type { RunHeadFragment, StepRowFragment } from "../../api/documents.ts";
import { Conversation } from "./conversation.tsx";
import { Inspector } from "./inspector.tsx";
import { nameOf } from "./rows.ts";
import type { RunView } from "./run-view.ts";
import classes from "./run.module.css";
import type { Change, Part } from "./search.ts";
import { isAssistant } from "./turns.ts";

type Props = {
  steps: readonly StepRowFragment[];
  chosen: StepRowFragment | undefined;
  part: Part | undefined;
  view: RunView;
  /** How many the run had when it was read. */
  stepCount: number;
  said: ReadonlyMap<number, string>;
  runError: RunHeadFragment["error"];
  now: number;
  onShow: (change: Change) => void;
  onClose: () => void;
};

export function Beside({ steps, stepCount, chosen, part, view, said, runError, now, onShow, onClose }: Props) {
  const assistant = chosen ? (isAssistant(chosen) ? chosen : undefined) : steps.findLast(isAssistant);
  const conversation = assistant && (
    <Conversation
      key={assistant.number}
      step={assistant}
      {...{ steps, stepCount, view, said, now }}
      onChoose={(step) => onShow({ step, part: undefined })}
    />
  );
  if (chosen)
    return (
      <Inspector
        step={chosen}
        conversation={conversation}
        {...{ view, runError, part, onClose }}
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
