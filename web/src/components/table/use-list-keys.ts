import type { RefObject } from "react";
import { useKeys } from "../../lib/use-keys.ts";

type Keys = {
  /** The lines: elements with `data-line`, which take the focus; Enter does what they do. */
  list: RefObject<HTMLElement | null>;
  /** The selector of the line's element, with its `data-line`. */
  onChoose?: (id: string, isRange: boolean) => void;
  /** `f` and `/`. */
  onFilter?: () => void;
};

/** `j` and `k` through the lines of a page's list, `x` chooses one, `f` or `/` filters. */
export function useListKeys({ list, onChoose, onFilter }: Keys): void {
  const choose = (isRange: boolean) => (): void => {
    const { lines, at } = linesOf(list.current);
    if (lines[at]) onChoose?.(lines[at].dataset["line"]!, isRange);
  };
  useKeys({
    j: () => moveIn(list.current, 1),
    k: () => moveIn(list.current, -1),
    ...(onChoose && { x: choose(false), X: choose(true) }),
    ...(onFilter && { f: onFilter, "/": onFilter }),
  });
}

/** The next or previous line; the first that can be seen where none has the focus. */
export function moveIn(list: HTMLElement | null, by: number): void {
  const { lines, at } = linesOf(list);
  const to = at < 0 ? lines.find((line) => line.getBoundingClientRect().top >= 0) : lines[at + by];
  to?.focus();
}

/** `at`: the one that has the focus in its row or below it, -1 if none. */
function linesOf(list: HTMLElement | null): { lines: HTMLElement[]; at: number } {
  const lines = [...(list?.querySelectorAll<HTMLElement>("[data-line]") ?? [])];
  const focused = document.activeElement;
  if (!list?.contains(focused)) return { lines, at: -1 };
  const at = lines.findIndex((line) => line.closest("tr")?.contains(focused));
  const isAfter = (line: HTMLElement): boolean =>
    Boolean(line.compareDocumentPosition(focused!) & Node.DOCUMENT_POSITION_FOLLOWING);
  return { lines, at: at < 0 ? lines.findLastIndex(isAfter) : at };
}
