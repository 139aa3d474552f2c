import { useMemo } from "react";
import { countText } from "../lib/counts.ts";
import { useOpened } from "../lib/use-opened.ts";

/** Setting a megabyte in lines takes the browser most of a second. */
const MAX_CHARACTERS = 20_000;

type Props = {
  text: string;
  /** Characters at first. */
  most?: number;
  /** How those are written that are shown. */
  written?: (text: string) => string;
};

const asItIs = (text: string): string => text;

/** A text of any length: its beginning, and the rest if somebody wants it. */
export function LongText({ text, most = MAX_CHARACTERS, written = asItIs }: Props) {
  const [isOpen, show] = useOpened(text);
  const isWhole = isOpen || text.length <= most;
  const shown = useMemo(() => written(isWhole ? text : text.slice(0, most)), [text, most, isWhole, written]);
  if (isWhole) return shown;
  return (
    <>
      {shown}…{" "}
      <button type="button" className="link" onClick={() => show(true)}>
        Show all {countText(text.length)} characters
      </button>
    </>
  );
}
