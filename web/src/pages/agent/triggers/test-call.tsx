/** Fires a trigger with a payload that somebody types: in the agent's own form, unless a mapping takes something else. */
import { useState, type SubmitEvent } from "react";
import { Button } from "@mantine/core";
import { useAct } from "../../../api/use-act.ts";
import { Problem } from "../../../components/notice.tsx";
import { InputPart } from "../../../forms/input-part.tsx";
import { inputFrom, valuesFrom, type FormField } from "../../../forms/values.ts";
import { isObject, parseJson, type JsonObject } from "../../../lib/json.ts";
import { useFocusBack } from "../../../lib/use-focus-back.ts";
import classes from "./triggers-tab.module.css";

type Props = {
  word: string;
  fields: readonly FormField[];
  send: (payload: JsonObject) => Promise<unknown>;
  /** It was sent, or will not be. */
  onEnd: () => void;
};

const NONE: ReadonlyMap<string, string> = new Map();

export function TestCall({ word, fields, send, onEnd }: Props) {
  useFocusBack();
  const { act, isBusy, refusal } = useAct();
  const [text, setText] = useState(() => JSON.stringify(inputFrom(fields, valuesFrom(fields)), null, 2));
  const [problems, setProblems] = useState(NONE);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const payload = payloadIn(text);
    setProblems(payload ? NONE : new Map([["", "must be a JSON object, such as {}"]]));
    if (!payload || isBusy) return;
    void act(async () => {
      await send(payload);
      onEnd();
    });
  };
  return (
    <form noValidate className={classes["form"]} aria-label={word} onSubmit={submit}>
      {refusal && <Problem refusal={refusal} />}
      <InputPart
        label="Payload"
        description="A JSON object."
        fields={fields}
        text={text}
        problems={problems}
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

function payloadIn(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
