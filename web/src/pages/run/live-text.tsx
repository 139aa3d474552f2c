/** A text that a model is writing. It is read aloud when it is whole. */
import { useState, useSyncExternalStore } from "react";
import classes from "./conversation.module.css";
import type { RunView } from "./run-view.ts";

/** More would have to be set in lines ten times a second. */
const MAX_CHARACTERS = 20_000;
/** So many are left out at a time: the others stay where they are meanwhile. */
const CUT_CHARACTERS = 10_000;

export function LiveText({ text }: { text: string }) {
  return (
    <section className={classes["words"]} dir="auto" aria-label="Text so far" aria-busy>
      {endOf(text)}
    </section>
  );
}

/** All of a short text, and the end of a long one. */
export function endOf(text: string): string {
  const cut = Math.ceil((text.length - MAX_CHARACTERS) / CUT_CHARACTERS) * CUT_CHARACTERS;
  return cut <= 0 ? text : `…${text.slice(cut).toWellFormed()}`;
}

/** The text that a model writes at a step now. Its growth draws what asks for it, and nothing around that. */
export const useText = (view: RunView, step: number): string | undefined =>
  useSyncExternalStore(view.texts.watch, () => view.texts.get().get(step));

/** The same, and what was written last until the whole answer is there: nothing jumps while that is read. */
export function useTextUntil(view: RunView, step: number, isAnswered: boolean): string | undefined {
  const text = useText(view, step);
  const [last, setLast] = useState(text);
  const kept = isAnswered ? undefined : (text ?? last);
  if (kept !== last) setLast(kept);
  return kept;
}
