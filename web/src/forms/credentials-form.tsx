/** A form whose fields are a few lines of text: setup, sign-in, invitation, another password. */
import { useState } from "react";
import { Button, PasswordInput, TextInput } from "@mantine/core";
import { fieldOf, restOf } from "../api/refusal.ts";
import { Problem } from "../components/notice.tsx";
import { useSubmit } from "./use-submit.ts";

export type TextField<Name extends string> = {
  name: Name;
  label: string;
  /** As in HTML. */
  autoComplete: string;
  hint?: string;
  minLength?: number;
};

type Props<Name extends string> = {
  fields: readonly TextField<Name>[];
  /** The fields' first values. */
  initial?: Partial<Record<Name, string>>;
  /** The button's label: `Sign in`. */
  verb: string;
  /** Other things are on the page: it takes neither the focus nor the whole width. */
  isBeside?: boolean;
  /** Throws Refusal. */
  send: (values: Record<Name, string>) => Promise<void>;
};

export function CredentialsForm<Name extends string>({ fields, initial, verb, isBeside = false, send }: Props<Name>) {
  /** Problems found here, by field. The server finds the others. */
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map());
  const { form, submit, isBusy, refusal, refusedAt } = useSubmit({
    check: () => {
      const found = problemsIn(inputsOf(form.current!, fields));
      setProblems(found);
      return found.size === 0;
    },
    send: () => send(valuesOf(inputsOf(form.current!, fields))),
  });
  const first = fields.find(({ name }) => !initial?.[name]);
  const rest = problems.size === 0 && restOf(refusal, (path) => fields.some(({ name }) => name === fieldOf(path)));
  return (
    <form ref={form} noValidate className="stack" onSubmit={submit}>
      {rest && <Problem refusal={rest} />}
      {fields.map((field) => (
        <Line
          key={field.name}
          field={field}
          initial={initial?.[field.name]}
          takesFocus={!isBeside && field === first}
          problem={problems.size === 0 ? refusedAt(field.name) : problems.get(field.name)}
        />
      ))}
      <Button type="submit" loading={isBusy} fullWidth={!isBeside} w={isBeside ? "fit-content" : undefined}>
        {verb}
      </Button>
    </form>
  );
}

type LineProps = {
  field: TextField<string>;
  initial: string | undefined;
  takesFocus: boolean;
  problem: string | undefined;
};

function Line({ field: { name, label, autoComplete, hint, minLength }, initial, takesFocus, problem }: LineProps) {
  const Input = autoComplete.endsWith("password") ? PasswordInput : TextInput;
  return (
    <Input
      name={name}
      label={label}
      description={hint}
      type={autoComplete === "username" ? "email" : undefined}
      autoComplete={autoComplete}
      minLength={minLength}
      defaultValue={initial}
      required
      withAsterisk={false}
      // oxlint-disable-next-line jsx-a11y/no-autofocus -- the page has nothing else
      autoFocus={takesFocus}
      data-autofocus={takesFocus || undefined}
      error={problem && `${label} ${problem}`}
    />
  );
}

/** The inputs themselves: the browser and password managers fill them in. */
const inputsOf = (form: HTMLFormElement, fields: readonly TextField<string>[]): HTMLInputElement[] =>
  fields.map(({ name }) => form.elements.namedItem(name) as HTMLInputElement);

const valuesOf = (inputs: readonly HTMLInputElement[]): Record<string, string> =>
  Object.fromEntries(inputs.map(({ name, value }) => [name, value]));

const problemsIn = (inputs: readonly HTMLInputElement[]): ReadonlyMap<string, string> =>
  new Map(inputs.filter(({ validity }) => !validity.valid).map((input) => [input.name, problemOf(input)]));

function problemOf({ validity, minLength, validationMessage }: HTMLInputElement): string {
  if (validity.valueMissing) return "is required";
  if (validity.tooShort) return `must have at least ${minLength} characters`;
  if (validity.typeMismatch) return "must be an e-mail address";
  return validationMessage;
}
