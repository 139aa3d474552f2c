/** The colours of CodeMirror, from style.css. */
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { RangeSetBuilder, type Extension } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { pageNonce } from "../../lib/nonce.ts";

const highlight = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: tags.string, color: "var(--completed)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--paused)" },
  { tag: tags.comment, color: "var(--dim)" },
]);

const look = EditorView.theme({
  "&": { backgroundColor: "var(--page)", color: "var(--text)", fontSize: "13px" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--dim)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-faint) !important",
  },
  ".cm-tooltip": { backgroundColor: "var(--page)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "none" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "2px 8px", minHeight: "24px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--accent-faint) !important",
    color: "var(--text) !important",
    outline: "1px solid var(--accent)",
    outlineOffset: "-1px",
  },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "600" },
  ".cm-completionDetail": { color: "var(--dim)", fontStyle: "normal" },
  ".cm-tooltip.cm-completionInfo": { padding: "4px 8px", maxWidth: "min(320px, 80vw)" },
  ".cm-changedLine": { backgroundColor: "var(--accent-faint) !important" },
  // The marks of before and after are of a font that few have, and the grey is that of a light page.
  ".cm-collapsedLines": { background: "var(--raised) !important", color: "var(--dim) !important", textIndent: "0" },
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: '"⋯"' },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
});

/** A line that is deeper is wrapped as one of this depth. */
const DEEPEST = 40;
const depths = Array.from({ length: DEEPEST + 1 }, (_, depth) => depth);

/** A line that is too long goes on below where it begins, two characters further. */
const wrapping = EditorView.theme(
  Object.fromEntries(
    depths.map((depth) => [
      `.cm-line.depth-${depth}`,
      { paddingLeft: `calc(6px + ${depth + 2}ch)`, textIndent: `-${depth + 2}ch` },
    ]),
  ),
);
const marks = depths.map((depth) => Decoration.line({ class: `depth-${depth}` }));

function depthsIn(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to } of view.visibleRanges)
    for (let at = from; at <= to;) {
      const line = view.state.doc.lineAt(at);
      builder.add(line.from, line.from, marks[Math.min(/^(?: |- )*/.exec(line.text)![0].length, DEEPEST)]!);
      at = line.to + 1;
    }
  return builder.finish();
}

const indented = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = depthsIn(view);
    }
    update({ docChanged, viewportChanged, view }: ViewUpdate): void {
      if (docChanged || viewportChanged) this.decorations = depthsIn(view);
    }
  },
  { decorations: ({ decorations }) => decorations },
);

export const editorLook = (): Extension => [
  look,
  syntaxHighlighting(highlight),
  EditorView.lineWrapping,
  wrapping,
  indented,
  EditorView.cspNonce.of(pageNonce()),
];
