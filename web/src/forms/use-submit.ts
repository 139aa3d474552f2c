import { useEffect, useRef, useState, type SubmitEvent } from "react";
import { fieldOf } from "../api/refusal.ts";
import { useAct } from "../api/use-act.ts";

/** A field that says what is wrong with it; in a field of several inputs, the first of them. */
const WRONG = '[aria-invalid="true"], .mantine-InputWrapper-root:has(> .mantine-InputWrapper-error) input';

/** `check`: looks at what was typed, and returns whether `send` may follow. */
type Submission = { check?: () => boolean; send: () => Promise<unknown> };

/** Sends a form, once at a time. After a try the focus is on the first field that is wrong. */
export function useSubmit({ check, send }: Submission) {
  const form = useRef<HTMLFormElement>(null);
  const { act, isBusy, refusal } = useAct();
  const [tries, setTries] = useState(0);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (isBusy) return;
    setTries(tries + 1);
    if (check?.() !== false) void act(send);
  };
  useEffect(() => {
    if (tries > 0 || refusal) form.current?.querySelector<HTMLElement>(WRONG)?.focus();
  }, [tries, refusal]);
  /** The server's problem with a field of the input, as in `must be shorter`. */
  const refusedAt = (name: string): string | undefined =>
    refusal?.fields.find(({ path }) => fieldOf(path) === name)?.message;
  return { form, submit, isBusy, refusal, refusedAt, isTried: tries > 0 };
}
