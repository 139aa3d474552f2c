/** The input of a run as a part of another form: by the agent's own fields, or as JSON where they cannot say it. */
import { useId, useState } from "react";
import { SegmentedControl } from "@mantine/core";
import { parseJson, type Json } from "../lib/json.ts";
import { Field } from "./field.tsx";
import classes from "./input-form.module.css";
import { JsonField } from "./json-field.tsx";
import { canSay, inputFrom, problemOf, valuesFrom, type FieldValue, type FormField, type Values } from "./values.ts";

type Props = {
  label: string;
  description: string;
  fields: readonly FormField[];
  /** JSON, as it is typed. */
  text: string;
  /** By field; of the whole under "". */
  problems: ReadonlyMap<string, string>;
  /** Dates may be counted from the day on which it is due. */
  hasDueDates?: boolean;
  /** `name`: of the field that was changed; all of it if there is none. */
  onChange: (text: string, name?: string) => void;
};

export function InputPart({ label, description, fields, text, problems, hasDueDates = false, onChange }: Props) {
  const isSaid = canSay(fields, parsed(text));
  const [isJson, setIsJson] = useState(!isSaid);
  /** The values with which the form begins, each time that it is shown. */
  const [initial, setInitial] = useState<Values>(() => valuesFrom(fields, parsed(text)));
  const show = (asJson: boolean): void => {
    setIsJson(asJson);
    if (!asJson) setInitial(valuesFrom(fields, parsed(text) ?? {}));
  };
  return (
    <fieldset className={classes["part"]}>
      <legend className={classes["legend"]}>{label}</legend>
      {fields.length > 0 && (
        <SegmentedControl
          size="xs"
          aria-label={`How to write the ${label.toLowerCase()}`}
          value={isJson ? "json" : "form"}
          data={[
            { value: "form", label: "Form", disabled: isJson && !isSaid },
            { value: "json", label: "JSON" },
          ]}
          onChange={(way) => show(way === "json")}
        />
      )}
      {fields.length > 0 && isJson && !isSaid && (
        <p className={classes["help"]}>The form cannot show this value. Edit the JSON.</p>
      )}
      {isJson ? (
        <JsonField
          aria-label={label}
          description={description}
          minRows={2}
          text={text}
          error={sentenceOf(label, problems)}
          onChange={(typed) => onChange(typed)}
        />
      ) : (
        <Fields {...{ label, fields, initial, problems, hasDueDates, onChange }} />
      )}
    </fieldset>
  );
}

type FieldsProps = Pick<Props, "label" | "fields" | "problems" | "onChange"> & {
  initial: Values;
  hasDueDates: boolean;
};

/** The agent's own fields, which write the JSON. */
function Fields({ label, fields, initial, problems, hasDueDates, onChange }: FieldsProps) {
  const id = useId();
  const [values, setValues] = useState(initial);
  /** The problem that a field had when it was left, until it is changed. */
  const [left, setLeft] = useState<ReadonlyMap<string, string | undefined>>(new Map());
  const change = (field: FormField, value: FieldValue): void => {
    const next = { ...values, [field.name]: value };
    setValues(next);
    onChange(JSON.stringify(inputFrom(fields, next), null, 2), field.name);
    setLeft(new Map([...left, [field.name, undefined]]));
  };
  const leave = (field: FormField): void => {
    const value = values[field.name];
    if (value !== undefined) setLeft(new Map([...left, [field.name, problemOf(field, value)]]));
  };
  const names = new Set(fields.map(({ name }) => name));
  const rest = sentenceOf(label, new Map([...problems].filter(([name]) => !names.has(name))));
  return (
    <>
      {fields.map((field) => (
        <Field
          key={field.name}
          id={`${id}-${field.name}`}
          field={field}
          value={values[field.name]}
          problem={problems.get(field.name) ?? left.get(field.name)}
          note={undefined}
          hasDueDates={hasDueDates}
          onChange={(value) => change(field, value)}
          onLeave={() => leave(field)}
        />
      ))}
      {rest && <p className={classes["problem"]}>{rest}</p>}
    </>
  );
}

/** Problems that are said in one place. Undefined: there are none. */
const sentenceOf = (label: string, problems: Props["problems"]): string | undefined =>
  [...problems].map(([name, problem]) => `${name || label} ${problem}`).join("; ") || undefined;

function parsed(text: string): Json | undefined {
  if (text.trim() === "") return undefined;
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}
