/** A run from a sentence: it is read, reviewed in the same form with the words that each field came from, and started by a person. */
import { useEffect, useEffectEvent, useState, type SubmitEvent } from "react";
import { Button, Textarea } from "@mantine/core";
import { useQuery } from "urql";
import { ExampleAgentsDocument, type RunFormAgentFragment } from "../../api/documents.ts";
import { Problem } from "../../components/notice.tsx";
import type { Refusal } from "../../api/refusal.ts";
import { corrected, NO_CORRECTIONS } from "./corrections.ts";
import { exampleSentence, exampleSentences } from "./examples.ts";
import { Review } from "./review.tsx";
import classes from "./run-form.module.css";
import { useReader } from "./use-reader.ts";

type Props = {
  /** Without it, it is found from the sentence, and can be changed. */
  agent?: RunFormAgentFragment;
  /** A sentence to begin with: it is read at once. */
  said?: string | undefined;
  /** After a sentence was read. */
  onRead?: (text: string) => void;
};

export function Describe({ agent, said, onRead }: Props) {
  const [text, setText] = useState(said ?? "");
  const [corrections, setCorrections] = useState(NO_CORRECTIONS);
  const { draft, read, lastRef, isBusy, refusal } = useReader(onRead);
  const readSaid = useEffectEvent((given: string) => {
    if (given === lastRef.current?.text) return;
    setText(given);
    void read({ text: given, agentId: agent?.id });
  });
  useEffect(() => {
    if (said) readSaid(said);
  }, [said]);
  return (
    <div className={classes["describe"]}>
      <Sentence
        {...{ agent, text, isBusy, refusal }}
        takesFocus={!agent && !said}
        isRead={draft !== undefined}
        onChange={setText}
        onSend={() => void read({ text, agentId: agent?.id ?? lastRef.current?.agentId })}
      />
      {draft && (
        <Review
          draft={draft}
          corrections={corrections}
          isFound={!agent}
          onChange={(input) => setCorrections((before) => corrected(draft, before, input))}
          onChoose={(agentId) => void read({ text: lastRef.current?.text ?? text, agentId })}
        />
      )}
    </div>
  );
}

type SentenceProps = {
  agent: RunFormAgentFragment | undefined;
  text: string;
  isRead: boolean;
  takesFocus: boolean;
  isBusy: boolean;
  refusal: Refusal | undefined;
  onChange: (text: string) => void;
  onSend: () => void;
};

function Sentence({ agent, text, isRead, takesFocus, isBusy, refusal, onChange, onSend }: SentenceProps) {
  const examples = useExamples(agent);
  return (
    <form
      noValidate
      className={classes["sentence"]}
      onSubmit={(event: SubmitEvent) => {
        event.preventDefault();
        onSend();
      }}
    >
      {refusal && <Problem refusal={refusal} />}
      <Textarea
        label="What should it do?"
        description={`In your own words, best in English${agent ? "" : ", with the agent’s name"}. Nothing starts before you have seen how it was understood.`}
        autosize
        minRows={2}
        maxRows={8}
        maxLength={1_000}
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- one came here for it
        autoFocus={takesFocus}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
        }}
      />
      {!isRead && examples.length > 0 && (
        <div className={classes["examples"]}>
          <span id="examples">For example:</span>
          <ul aria-labelledby="examples">
            {examples.map((example) => (
              <li key={example}>
                <button type="button" className="link" onClick={() => onChange(example)}>
                  {example}
                </button>
              </li>
            ))}
          </ul>
        </div>
      )}
      <Button type="submit" variant={isRead ? "default" : "filled"} loading={isBusy} disabled={text.trim() === ""}>
        {isRead ? "Read it again" : "Review"}
      </Button>
    </form>
  );
}

/** Examples for this agent, or one each for some. */
function useExamples(agent: RunFormAgentFragment | undefined): string[] {
  const [{ data }] = useQuery({ query: ExampleAgentsDocument, pause: agent !== undefined });
  if (agent) return exampleSentences(agent);
  return (data?.agentsConnection?.nodes ?? []).map(exampleSentence);
}
