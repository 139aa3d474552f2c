import { countText } from "../lib/counts.ts";
import { useOpened } from "../lib/use-opened.ts";

/** Setting a megabyte in lines takes the browser most of a second. */
const MAX_CHARACTERS = 20_000;

/** A text of any length: its beginning, and the rest if somebody wants it. */
export function LongText({ text, most = MAX_CHARACTERS }: { text: string; most?: number }) {
  const [isWhole, show] = useOpened(text);
  if (isWhole || text.length <= most) return text;
  return (
    <>
      {text.slice(0, most)}…{" "}
      <button type="button" className="link" onClick={() => show(true)}>
        Show all {countText(text.length)} characters
      </button>
    </>
  );
}
