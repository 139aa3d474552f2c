/** For an agent that says nothing about its input: any JSON object. */
import { useState, type ReactNode } from "react";
import { Problem } from "../components/notice.tsx";
import { objectIn, problemInObject, type Json, type JsonObject } from "../lib/json.ts";
import classes from "./input-form.module.css";
import { JsonField } from "./json-field.tsx";
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
  const problem = problemInObject(text);
  const { form, submit, isBusy, refusal, isTried } = useSubmit({
    check: () => problem === undefined,
    send: () => send(objectIn(text)!),
  });
  return (
    <form ref={form} noValidate className={classes["form"]} onSubmit={submit}>
      {refusal && <Problem refusal={refusal} />}
      <JsonField
        label={label}
        description="A JSON object."
        minRows={6}
        maxRows={24}
        text={text}
        error={isTried && problem ? `${label} ${problem}` : undefined}
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
