/** Two texts side by side, what is the same between changes folded. */
import { useEffect, useRef } from "react";
import { yaml } from "@codemirror/lang-yaml";
import { MergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import classes from "./definition-tab.module.css";
import { editorLook } from "./editor-look.ts";

/** `version`: whose text is on the left; `current`: on the right. */
type Props = { version: string; current?: string; before: string; after: string };

export function Difference({ version, current = "Current text", before, after }: Props) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const side = (doc: string, label: string) => ({
      doc,
      extensions: [
        lineNumbers(),
        yaml(),
        editorLook(),
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ "aria-label": label }),
      ],
    });
    const view = new MergeView({
      parent: place.current!,
      a: side(before, "The version"),
      b: side(after, current),
      collapseUnchanged: { margin: 3 },
      gutter: true,
    });
    return () => view.destroy();
  }, [before, after, current]);
  return (
    <div className={classes["editor"]}>
      <div className={classes["sides"]} aria-hidden>
        <span>{version}</span>
        <span>{current}</span>
      </div>
      <div ref={place} />
    </div>
  );
}
