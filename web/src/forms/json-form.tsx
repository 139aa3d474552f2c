/** For an agent that says nothing about its input: any JSON object. */
import { useState, type ReactNode } from "react";
import { JsonInput } from "@mantine/core";
import { Problem } from "../components/notice.tsx";
import { objectIn, type Json, type JsonObject } from "../lib/json.ts";
import classes from "./input-form.module.css";
import { useSubmit } from "./use-submit.ts";

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
  const { form, submit, isBusy, refusal } = useSubmit({
    check: () => {
      const isObject = objectIn(text) !== undefined;
      setProblem(isObject ? undefined : "must be a JSON object, such as {}");
      return isObject;
    },
    send: () => send(objectIn(text)!),
  });
  return (
    <form ref={form} noValidate className={classes["form"]} onSubmit={submit}>
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
      {children(isBusy)}
    </form>
  );
}
