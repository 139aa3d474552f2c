/** One text, mostly JSON, to read, search, copy and keep. */
import { useMemo, useRef, useState } from "react";
import { Button } from "@mantine/core";
import { countText } from "../lib/counts.ts";
import { useHeldEnd } from "../lib/use-held-end.ts";
import { CopyButton } from "./copy-button.tsx";
import classes from "./json-view.module.css";

/** More is not laid out: a megabyte of it holds the page up for seconds. */
const MAX_CHARACTERS = 200_000;
const MAX_FOUND = 500;
/** Shorter ones are seen whole. */
const SEARCHED_FROM_LINES = 12;

type Props = {
  text: string;
  /** As in "output". */
  label: string;
  /** Its name when it is kept. */
  file: string;
  /** More of it comes: its end is held in sight. */
  isGrowing?: boolean;
};

export function JsonView({ text, label, file, isGrowing = false }: Props) {
  const shown = text.slice(0, MAX_CHARACTERS);
  const pre = useRef<HTMLPreElement>(null);
  useHeldEnd(pre, { isLive: isGrowing, isHeldAtFirst: isGrowing, end: () => pre.current!.scrollHeight });
  const search = useSearch(shown);
  const isSearched = useMemo(() => shown.split("\n", SEARCHED_FROM_LINES).length >= SEARCHED_FROM_LINES, [shown]);
  return (
    <div className={classes["view"]}>
      <div className={classes["bar"]}>
        {isSearched && <SearchField search={search} label={label} />}
        <CopyButton text={text} label={`Copy the ${label}`} isBare />
        <Button
          variant="default"
          size="compact-sm"
          aria-label={`Download the ${label}`}
          onClick={() => keep(text, file)}
        >
          Download
        </Button>
      </div>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so the keyboard must reach it */}
      <pre ref={pre} tabIndex={0} dir="auto" aria-label={isGrowing ? `${label} so far` : label} aria-busy={isGrowing}>
        {search.parts.map(({ at, text: part, place }) =>
          place === undefined ? part : <Found key={at} text={part} isCurrent={place === search.current} />,
        )}
      </pre>
      {shown.length < text.length && (
        <p className={classes["cut"]}>
          The first {countText(shown.length)} of {countText(text.length)} characters. Download it to see all.
        </p>
      )}
    </div>
  );
}

type Search = ReturnType<typeof useSearch>;

/** Where a text has what is sought; `current`: the place at which the reader is. */
function useSearch(text: string) {
  const [sought, setSought] = useState("");
  const [current, setCurrent] = useState(0);
  const parts = useMemo(() => partsOf(text, sought), [text, sought]);
  const found = parts.filter(({ place }) => place !== undefined).length;
  const seek = (next: string): void => {
    setSought(next);
    setCurrent(0);
  };
  /** After the last comes the first. There must be one. */
  const go = (by: 1 | -1): void => setCurrent((current + found + by) % found);
  return { sought, parts, found, current, seek, go };
}

const SearchField = ({ search: { sought, found, current, seek, go }, label }: { search: Search; label: string }) => (
  <div className={classes["search"]}>
    <input
      type="search"
      aria-label={`Search the ${label}`}
      placeholder="Search"
      value={sought}
      onChange={(event) => seek(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || found === 0) return;
        event.preventDefault();
        go(event.shiftKey ? -1 : 1);
      }}
    />
    <span aria-live="polite">{sought && (found === 0 ? "none" : `${current + 1} of ${atMost(found)}`)}</span>
  </div>
);

const Found = ({ text, isCurrent }: { text: string; isCurrent: boolean }) => (
  <mark ref={isCurrent ? bringIntoSight : undefined} data-current={isCurrent || undefined}>
    {text}
  </mark>
);

const bringIntoSight = (mark: HTMLElement | null): void => mark?.scrollIntoView({ block: "nearest" });

const atMost = (found: number): string => (found === MAX_FOUND ? `${found} or more` : String(found));

/** `place`: of what is sought, the first is 0. */
type TextPart = { at: number; text: string; place?: number };

function partsOf(text: string, sought: string): TextPart[] {
  if (sought === "") return [{ at: 0, text }];
  const lower = text.toLowerCase();
  // Few letters become longer in lower case, and then the places are others.
  const searched = lower.length === text.length ? lower : text;
  const parts: TextPart[] = [];
  let from = 0;
  for (let place = 0; place < MAX_FOUND; place++) {
    const at = searched.indexOf(sought.toLowerCase(), from);
    if (at < 0) break;
    const to = at + sought.length;
    parts.push({ at: from, text: text.slice(from, at) }, { at, text: text.slice(at, to), place });
    from = to;
  }
  return [...parts, { at: from, text: text.slice(from) }];
}

function keep(text: string, file: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = file;
  link.click();
  // The browser has taken it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
