/** A form made from an agent's input fields, or an approval's: one component a field, errors only after it was touched. */
import { useId, useRef, useState, type ReactNode, type SubmitEvent } from "react";
import type { Refusal } from "../api/refusal.ts";
import { useAct } from "../api/use-act.ts";
import { Problem } from "../components/notice.tsx";
import type { JsonObject } from "../lib/json.ts";
import { Field } from "./field.tsx";
import type { Note } from "./field-label.tsx";
import classes from "./input-form.module.css";
import { problemsIn, problemsOf, useProblems, type Found, type Problems } from "./use-problems.ts";
import { inputFrom, valuesFrom, type FieldValue, type FormField, type Values } from "./values.ts";

type Props = {
  fields: readonly FormField[];
  /** The fields' first values, else their defaults. */
  initial?: Values;
  /** Beside the labels of fields: where a value came from. */
  notes?: ReadonlyMap<string, Note>;
  /** Why the server refused it before. */
  refused?: Refusal | undefined;
  onChange?: (input: JsonObject) => void;
  /** Throws Refusal; its fields' paths are as in `input.input.name`. `verb`: the pressed button's `value`. */
  send: (input: JsonObject, verb: string) => Promise<void>;
  /** Whether the button sends what stands in the fields: without it nothing in them is wrong. */
  sendsFields?: (verb: string) => boolean;
  /** The buttons. */
  children: (isSending: boolean) => ReactNode;
};

export function InputForm({ fields, initial, notes, refused, onChange, send, sendsFields, children }: Props) {
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const [values, setValues] = useState<Values>(() => initial ?? valuesFrom(fields));
  const { problems, rest, look, show } = useProblems(fields, refused);
  const [isSubmitted, setIsSubmitted] = useState(refused !== undefined);
  const { act, isBusy } = useAct();
  const idOf = (name: string): string => `${id}-${name}`;
  const focus = (name: string): void =>
    form.current
      ?.querySelector<HTMLElement>(`[id="${CSS.escape(idOf(name))}"], [data-field="${CSS.escape(name)}"] input`)
      ?.focus();

  const change = (field: FormField, value: FieldValue): void => {
    const next = { ...values, [field.name]: value };
    setValues(next);
    onChange?.(inputFrom(fields, next));
    if (problems.has(field.name)) look(field, value);
  };
  const showAndFocus = (found: Found): void => {
    show(found);
    const first = fields.find(({ name }) => found.ofFields.has(name));
    if (first) focus(first.name);
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (isBusy) return;
    setIsSubmitted(true);
    const verb = verbOf(event);
    const found = problemsOf(sendsFields?.(verb) === false ? [] : fields, values);
    showAndFocus({ ofFields: found, rest: undefined });
    if (found.size > 0) return;
    void act(
      () => send(inputFrom(fields, values), verb),
      (refusal) => showAndFocus(problemsIn(refusal, fields)),
    );
  };

  return (
    <form ref={form} noValidate className={classes["form"]} onSubmit={submit}>
      {isSubmitted && problems.size > 0 && <Summary fields={fields} problems={problems} focus={focus} />}
      {rest && <Problem refusal={rest} />}
      {fields.map((field) => (
        <Field
          key={field.name}
          id={idOf(field.name)}
          field={field}
          value={values[field.name]}
          problem={problems.get(field.name)}
          note={notes?.get(field.name)}
          onChange={(value) => change(field, value)}
          onLeave={() => values[field.name] !== undefined && look(field, values[field.name])}
        />
      ))}
      {children(isBusy)}
    </form>
  );
}

const verbOf = ({ nativeEvent }: SubmitEvent): string =>
  (nativeEvent as unknown as { submitter: HTMLButtonElement | null }).submitter?.value ?? "";

type SummaryProps = { fields: readonly FormField[]; problems: Problems; focus: (name: string) => void };

function Summary({ fields, problems, focus }: SummaryProps) {
  return (
    <div className={classes["summary"]} role="alert">
      <p>{problems.size === 1 ? "1 field needs" : `${problems.size} fields need`} another look:</p>
      <ul>
        {fields
          .filter(({ name }) => problems.has(name))
          .map(({ name, title }) => (
            <li key={name}>
              <button type="button" className="link" onClick={() => focus(name)}>
                {title} {problems.get(name)}
              </button>
            </li>
          ))}
      </ul>
    </div>
  );
}
