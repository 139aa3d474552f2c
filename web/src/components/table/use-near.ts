/** Which pages of a list are near the screen. The others are not in the document; the room that they take is kept. */
import { useEffect, useEffectEvent, useLayoutEffect, useRef, useState, type RefObject } from "react";

/** How far above and below the screen rows are there already. */
const MARGIN_PX = 1_000;

/** The pages `from` to `to`, and the room that those before and after them take. */
type Near = { from: number; to: number; beforePx: number; afterPx: number };

type Asked = {
  table: RefObject<HTMLTableElement | null>;
  /** How many rows each page has. */
  counts: readonly number[];
  rowPx: number;
  /** The heights of a list that one comes back to. */
  keptHeightsPx: number[];
  /** The last page ends near the screen. */
  onEndNear: () => void;
};

/** `heightsPx`: of each page that was drawn so far. */
export function useNear(asked: Asked): Near & { heightsPx: RefObject<number[]> } {
  const { table, counts, rowPx, keptHeightsPx, onEndNear } = asked;
  const heightsPx = useRef(keptHeightsPx);
  const [near, setNear] = useState<Near>(() => {
    const [, ...others] = keptHeightsPx;
    return { from: 0, to: 0, beforePx: 0, afterPx: others.reduce((sum, height) => sum + height, 0) };
  });
  const look = useEffectEvent((): void => {
    if (!table.current) return;
    for (const body of table.current.tBodies) {
      const index = body.dataset["page"];
      if (index !== undefined) heightsPx.current[Number(index)] = body.offsetHeight;
    }
    const top = table.current.getBoundingClientRect().top;
    const heights = counts.map((count, index) => heightsPx.current[index] ?? Math.max(count, 1) * rowPx);
    const seen = nearOf(heights, { top: -top - MARGIN_PX, bottom: -top + innerHeight + MARGIN_PX });
    setNear((before) => (isSame(before, seen) ? before : seen));
    if (seen.to === counts.length - 1 && seen.isEndNear) onEndNear();
  });
  useLayoutEffect(() => look());
  useEffect(() => {
    const listener = (): void => look();
    addEventListener("scroll", listener, { passive: true });
    addEventListener("resize", listener);
    return () => {
      removeEventListener("scroll", listener);
      removeEventListener("resize", listener);
    };
  }, []);
  return { ...near, heightsPx };
}

function nearOf(
  heights: readonly number[],
  { top, bottom }: { top: number; bottom: number },
): Near & { isEndNear: boolean } {
  let at = 0;
  const spans = heights.map((height) => {
    const from = at;
    at += height;
    return { from, to: at };
  });
  const found = spans.findIndex(({ to }) => to >= top);
  const from = found < 0 ? spans.length - 1 : found;
  const to = Math.max(
    from,
    spans.findLastIndex((span) => span.from <= bottom),
  );
  return { from, to, beforePx: spans[from]!.from, afterPx: at - spans[to]!.to, isEndNear: at <= bottom };
}

const isSame = (one: Near, other: Near): boolean =>
  one.from === other.from && one.to === other.to && one.beforePx === other.beforePx && one.afterPx === other.afterPx;
