/** How a sentence was understood: the form with where each value came from, and what was not understood. */
import type { JsonObject } from "../../lib/json.ts";
import { llmProblemText } from "../../lib/llm-problems.ts";
import { AgentChoice } from "./agent-choice.tsx";
import { inputWith, notesOf, unlooked, type Corrections, type Draft } from "./corrections.ts";
import { RunForm } from "./run-form.tsx";
import classes from "./run-form.module.css";

type Props = {
  draft: Draft;
  corrections: Corrections;
  /** The agent is found by the sentence, too. */
  isFound: boolean;
  onChange: (input: JsonObject) => void;
  onChoose: (agentId: string) => void;
};

export function Review({ draft, corrections, isFound, onChange, onChoose }: Props) {
  const { id, agent, agentSource, unread, modelProblem } = draft;
  const source = agentSource ? { text: `from “${agentSource}”`, kind: "said" as const } : undefined;
  return (
    <section aria-label="Review" className={classes["review"]}>
      <h2>{agent ? "How it was understood" : "No agent was found"}</h2>
      {!agent && (
        <p>No agent’s name is in the sentence, or several fit it alike. Choose one, and it is read for that.</p>
      )}
      {modelProblem && (
        <p className={classes["unread"]}>
          The model {llmProblemText(modelProblem)}, so this was read by rules, which know English only.
        </p>
      )}
      {isFound && <AgentChoice chosen={agent} note={source} onChoose={onChoose} />}
      {agent && unread.length > 0 && (
        <p className={classes["unread"]}>Not understood: {unread.map((part) => `“${part}”`).join(", ")}</p>
      )}
      {agent && (
        <RunForm
          key={id}
          agent={agent}
          initial={inputWith(draft, corrections)}
          runDraftId={id}
          notes={notesOf(draft, corrections)}
          unlooked={unlooked(draft, corrections)}
          onChange={onChange}
        />
      )}
    </section>
  );
}
