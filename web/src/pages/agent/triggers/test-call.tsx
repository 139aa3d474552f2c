/** Fires a trigger with a payload that somebody types: in the agent's own form, unless a mapping takes something else. */
import { useState } from "react";
import { Button } from "@mantine/core";
import { Problem } from "../../../components/notice.tsx";
import { InputPart } from "../../../forms/input-part.tsx";
import { useSubmit } from "../../../forms/use-submit.ts";
import { inputFrom, valuesFrom, type FormField } from "../../../forms/values.ts";
import { objectIn, problemInObject, type JsonObject } from "../../../lib/json.ts";
import { useFocusBack } from "../../../lib/use-focus-back.ts";
import classes from "./triggers-tab.module.css";

type Props = {
  word: string;
  fields: readonly FormField[];
  send: (payload: JsonObject) => Promise<unknown>;
  /** It was sent, or will not be. */
  onEnd: () => void;
};

export function TestCall({ word, fields, send, onEnd }: Props) {
  useFocusBack();
  const [text, setText] = useState(() => JSON.stringify(inputFrom(fields, valuesFrom(fields)), null, 2));
  const problem = problemInObject(text);
  const { form, submit, isBusy, refusal, isTried } = useSubmit({
    check: () => problem === undefined,
    send: async () => {
      await send(objectIn(text)!);
      onEnd();
    },
  });
  return (
    <form ref={form} noValidate className={classes["form"]} aria-label={word} onSubmit={submit}>
      {refusal && <Problem refusal={refusal} />}
      <InputPart
        label="Payload"
        description="A JSON object."
        fields={fields}
        text={text}
        problems={new Map(isTried && problem ? [["", problem]] : [])}
        onChange={setText}
      />
      <span className="line">
        <Button type="submit" size="compact-md" loading={isBusy}>
          {word}
        </Button>
        <Button variant="default" size="compact-md" onClick={onEnd}>
          Cancel
        </Button>
      </span>
    </form>
  );
}
