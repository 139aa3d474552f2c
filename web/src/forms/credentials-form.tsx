/** A form whose fields are a few lines of text: setup, sign-in, invitation, another password. */
import { useRef, useState, type SubmitEvent } from "react";
import { Button, PasswordInput, TextInput } from "@mantine/core";
import { Refusal } from "../api/refusal.ts";
import { Problem } from "../components/notice.tsx";

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
  const form = useRef<HTMLFormElement>(null);
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map());
  const [refusal, setRefusal] = useState<Refusal>();
  const [isSending, setIsSending] = useState(false);
  const first = fields.find(({ name }) => !initial?.[name]);

  const show = (found: ReadonlyMap<string, string>, whole?: Refusal): void => {
    setProblems(found);
    setRefusal(found.size === 0 ? whole : undefined);
    const wrong = fields.find(({ name }) => found.has(name));
    if (wrong) input(form.current!, wrong.name).focus();
  };

  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (isSending) return;
    const inputs = fields.map((field) => [field, input(form.current!, field.name)] as const);
    const local = inputs.flatMap(([{ name }, one]) => (one.validity.valid ? [] : [[name, sentenceFor(one)] as const]));
    show(new Map(local));
    if (local.length > 0) return;
    setIsSending(true);
    try {
      await send(Object.fromEntries(inputs.map(([{ name }, one]) => [name, one.value])) as Record<Name, string>);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      show(new Map(error.fields.map(({ path, message }) => [path.split(".").at(-1)!, message])), error);
    } finally {
      setIsSending(false);
    }
  };

  return (
    <form ref={form} noValidate className="stack" onSubmit={(event) => void submit(event)}>
      {refusal && <Problem refusal={refusal} />}
      {fields.map((field) => {
        const { name, label, autoComplete, hint, minLength } = field;
        const takesFocus = !isBeside && field === first;
        const Input = autoComplete.endsWith("password") ? PasswordInput : TextInput;
        const problem = problems.get(name);
        return (
          <Input
            key={name}
            name={name}
            label={label}
            description={hint}
            type={autoComplete === "username" ? "email" : undefined}
            autoComplete={autoComplete}
            minLength={minLength}
            defaultValue={initial?.[name]}
            required
            withAsterisk={false}
            // oxlint-disable-next-line jsx-a11y/no-autofocus -- the page has nothing else
            autoFocus={takesFocus}
            data-autofocus={takesFocus || undefined}
            error={problem && `${label} ${problem}`}
          />
        );
      })}
      <Button type="submit" loading={isSending} fullWidth={!isBeside} w={isBeside ? "fit-content" : undefined}>
        {verb}
      </Button>
    </form>
  );
}

const input = (form: HTMLFormElement, name: string): HTMLInputElement =>
  form.elements.namedItem(name) as HTMLInputElement;

function sentenceFor({ validity, minLength, validationMessage }: HTMLInputElement): string {
  if (validity.valueMissing) return "is required";
  if (validity.tooShort) return `must have at least ${minLength} characters`;
  if (validity.typeMismatch) return "must be an e-mail address";
  return validationMessage;
}
