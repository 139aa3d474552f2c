/** A definition's text with what the server finds wrong with it, where it is wrong. Tab leaves the text. */
import { useEffect, useEffectEvent, useRef } from "react";
import { autocompletion } from "@codemirror/autocomplete";
import { yaml } from "@codemirror/lang-yaml";
import { linter, lintGutter, type Diagnostic } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { basicSetup } from "codemirror";
import { completeIn } from "./completion/complete.ts";
import classes from "./definition-tab.module.css";
import { editorLook } from "./editor-look.ts";

export type Found = { line: number; column: number; message: string; severity: "error" | "warning" };
export type Check = (text: string) => Promise<readonly Found[]>;

type Props = { text: string; isReadOnly: boolean; check: Check; onChange: (text: string) => void };

const CHECKED_AFTER_MS = 500;

/** Few at a time, which need no scrolling: typing finds the others, and so do the arrows. */
const OFFERED = 8;

const definitionCompletion = autocompletion({
  override: [completeIn(__LANGUAGE__)],
  maxRenderedOptions: OFFERED,
  icons: false,
});

export function Editor({ text, isReadOnly, check, onChange }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const first = useRef(text);
  const changed = useEffectEvent(onChange);
  useEffect(() => {
    const view = new EditorView({
      parent: place.current!,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          basicSetup,
          yaml(),
          definitionCompletion,
          editorLook(),
          EditorState.readOnly.of(isReadOnly),
          EditorView.contentAttributes.of({ "aria-label": "Definition" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed(update.state.doc.toString());
          }),
          linter(async ({ state }) => (await check(state.doc.toString())).map((one) => diagnostic(state, one)), {
            delay: CHECKED_AFTER_MS,
          }),
          lintGutter(),
        ],
      }),
    });
    return () => view.destroy();
  }, [check, isReadOnly]);
  return <div ref={place} className={classes["editor"]} />;
}

function diagnostic({ doc }: EditorState, { line, column, message, severity }: Found): Diagnostic {
  const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return { from: Math.min(from + column - 1, to), to, message, severity };
}
