/** A form made from an agent's input fields, or an approval's: one component a field, errors only after it was touched. */
import { useId, useRef, useState, type ReactNode, type SubmitEvent } from "react";
import { Refusal, restOf } from "../api/refusal.ts";
import { Problem } from "../components/notice.tsx";
import type { JsonObject } from "../lib/json.ts";
import { Field } from "./field.tsx";
import type { Note } from "./field-label.tsx";
import classes from "./input-form.module.css";
import { inputFrom, problemOf, valuesFrom, type FieldValue, type FormField, type Values } from "./values.ts";

type Problems = ReadonlyMap<string, string>;

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
  const [before] = useState(() => refused && problemsIn(refused, fields));
  const [problems, setProblems] = useState<Problems>(before?.ofFields ?? new Map());
  const [refusal, setRefusal] = useState(before?.rest);
  const [isSending, setIsSending] = useState(false);
  const [isSubmitted, setIsSubmitted] = useState(before !== undefined);
  const idOf = (name: string): string => `${id}-${name}`;
  const focus = (name: string): void =>
    form.current
      ?.querySelector<HTMLElement>(`[id="${CSS.escape(idOf(name))}"], [data-field="${CSS.escape(name)}"] input`)
      ?.focus();

  const change = (name: string, value: FieldValue): void => {
    const next = { ...values, [name]: value };
    setValues(next);
    onChange?.(inputFrom(fields, next));
    const field = fields.find((one) => one.name === name)!;
    if (problems.has(name)) setProblem(name, problemOf(field, value));
  };
  const setProblem = (name: string, problem: string | undefined): void => {
    const next = new Map(problems);
    if (problem) next.set(name, problem);
    else next.delete(name);
    setProblems(next);
  };
  const show = (found: Problems, whole?: Refusal): void => {
    setProblems(found);
    setRefusal(whole);
    const first = fields.find(({ name }) => found.has(name));
    if (first) focus(first.name);
  };

  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (isSending) return;
    setIsSubmitted(true);
    const verb = (event.nativeEvent as unknown as { submitter: HTMLButtonElement | null }).submitter?.value ?? "";
    const sent = sendsFields?.(verb) === false ? [] : fields;
    const local = problemsOf(sent, values);
    show(local);
    if (local.size > 0) return;
    setIsSending(true);
    try {
      await send(inputFrom(fields, values), verb);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { ofFields, rest } = problemsIn(error, fields);
      show(ofFields, rest);
    } finally {
      setIsSending(false);
    }
  };

  return (
    <form ref={form} noValidate className={classes["form"]} onSubmit={(event) => void submit(event)}>
      {isSubmitted && problems.size > 0 && <Summary fields={fields} problems={problems} focus={focus} />}
      {refusal && <Problem refusal={refusal} />}
      {fields.map((field) => (
        <Field
          key={field.name}
          id={idOf(field.name)}
          field={field}
          value={values[field.name]}
          problem={problems.get(field.name)}
          note={notes?.get(field.name)}
          onChange={(value) => change(field.name, value)}
          onLeave={() => {
            if (values[field.name] !== undefined) setProblem(field.name, problemOf(field, values[field.name]));
          }}
        />
      ))}
      {children(isSending)}
    </form>
  );
}

const problemsOf = (fields: readonly FormField[], values: Values): Problems =>
  new Map(
    fields.flatMap((field) => {
      const problem = problemOf(field, values[field.name]);
      return problem ? [[field.name, problem] as const] : [];
    }),
  );

/** `rest`: what is said of no field that is here. */
function problemsIn(refusal: Refusal, fields: readonly FormField[]): { ofFields: Problems; rest: Refusal | undefined } {
  const names = new Set<string | undefined>(fields.map(({ name }) => name));
  const found = refusal.fields.filter(({ path }) => names.has(nameIn(path)));
  return {
    ofFields: new Map(found.map(({ path, message }) => [nameIn(path)!, message])),
    rest: restOf(refusal, (path) => names.has(nameIn(path))),
  };
}

const nameIn = (path: string): string | undefined => path.split(".")[2];

function Summary({
  fields,
  problems,
  focus,
}: {
  fields: readonly FormField[];
  problems: Problems;
  focus: (name: string) => void;
}) {
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
