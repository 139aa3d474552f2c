import { useEffect, type RefObject } from "react";

const WRONG = '[aria-invalid="true"], .mantine-InputWrapper-root:has(> .mantine-InputWrapper-error) input';

/** Moves the focus to the first problem; `tried`: how often, `refusal`: by the server. */
export function useFocusOnProblem(form: RefObject<HTMLFormElement | null>, tried: number, refusal: unknown): void {
  useEffect(() => {
    if (tried > 0 || refusal) form.current?.querySelector<HTMLElement>(WRONG)?.focus();
  }, [form, tried, refusal]);
}
