/** For an agent that says nothing about its input: any JSON object. */
import { useState, type ReactNode, type SubmitEvent } from "react";
import { JsonInput } from "@mantine/core";
import { Refusal } from "../api/refusal.ts";
import { Problem } from "../components/notice.tsx";
import { objectIn, type Json, type JsonObject } from "../lib/json.ts";
import classes from "./input-form.module.css";

type Props = {
  label: string;
  initial: Json;
  onChange?: (input: JsonObject) => void;
  send: (input: JsonObject) => Promise<void>;
  children: (isSending: boolean) => ReactNode;
};

export function JsonForm({ label, initial, onChange, send, children }: Props) {
  const [text, setText] = useState(() => JSON.stringify(initial, null, 2));
  const [problem, setProblem] = useState<string>();
  const [refusal, setRefusal] = useState<Refusal>();
  const [isSending, setIsSending] = useState(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const input = objectIn(text);
    setProblem(input ? undefined : "must be a JSON object, such as {}");
    if (!input || isSending) return;
    setIsSending(true);
    setRefusal(undefined);
    try {
      await send(input);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setRefusal(error);
    } finally {
      setIsSending(false);
    }
  };
  return (
    <form noValidate className={classes["form"]} onSubmit={(event) => void submit(event)}>
      {refusal && <Problem refusal={refusal} />}
      <JsonInput
        label={label}
        description="A JSON object."
        autosize
        minRows={6}
        maxRows={24}
        value={text}
        error={problem && `${label} ${problem}`}
        onChange={(value) => {
          setText(value);
          const input = objectIn(value);
          if (input) onChange?.(input);
        }}
      />
      {children(isSending)}
    </form>
  );
}
