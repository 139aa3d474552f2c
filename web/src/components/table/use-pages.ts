/**
 * A list of any length, read page by page as one goes down, each by the cursor at the end of the one before. In the document
 * are only the pages near the screen; of the others their height is kept, and a list that one comes back to is as it was left.
 */
import { useEffect, useEffectEvent, useLayoutEffect, useRef, useState, type RefObject } from "react";
import type { Client, RequestPolicy } from "@urql/core";
import { useClient } from "urql";

export const OF_A_PAGE = 50;
/** How far above and below the screen rows are there already. */
const MARGIN_PX = 1_000;
/** Lists that are kept for somebody who comes back. */
const MAX_KEPT = 8;

type Page<Item> = {
  after: string | null;
  items: readonly Item[];
  /** Where the next page begins; null: this is the last one; undefined: it was not read yet. */
  next: string | null | undefined;
};
type Kept = { pages: readonly Page<unknown>[]; heightsPx: number[] };

/** The pages `from` to `to`, and the room that those before and after them take. */
type Near = { from: number; to: number; beforePx: number; afterPx: number };

export type Pages<Item> = {
  table: RefObject<HTMLTableElement | null>;
  /** Those to be drawn. */
  near: readonly { key: string; index: number; after: string | null }[];
  beforePx: number;
  afterPx: number;
  /** All that were read so far. */
  items: readonly Item[];
  /** There are no more. */
  isWhole: boolean;
  /** The first have not come yet, and are not refused. */
  isBusy: boolean;
  /** For the query of a page: the first time from the network, later from the cache. */
  policyOf(after: string | null): RequestPolicy;
  /** How often the list was read again. */
  round: number;
  /** The answer to a page's query. */
  tell(index: number, items: readonly Item[], next: string | null): void;
  /** A page's query was refused. */
  tellRefused(): void;
  /** Reads what is near again; its rows stay where they are meanwhile. `fromStart`: only the first page stays. */
  readAgain(options?: { fromStart: boolean }): void;
};

const FIRST: readonly Page<never>[] = [{ after: null, items: [], next: undefined }];
const lists = new WeakMap<Client, Map<string, Kept>>();

/** `name`: of the list, with its filters; a component shows one list as long as it lives. */
export function usePages<Item>(name: string, rowPx: number): Pages<Item> {
  const kept = keptOf(useClient());
  const [pages, setPages] = useState(() => (kept.get(name)?.pages ?? FIRST) as readonly Page<Item>[]);
  const heightsPx = useRef<number[]>([]);
  const [round, setRound] = useState(0);
  const [isRefused, setIsRefused] = useState(false);
  const [visited] = useState(() => new Set<string | null>());
  const table = useRef<HTMLTableElement>(null);
  const [near, setNear] = useState<Near>(() => {
    const [, ...others] = kept.get(name)?.heightsPx ?? [];
    return { from: 0, to: 0, beforePx: 0, afterPx: others.reduce((sum, height) => sum + height, 0) };
  });

  const look = useEffectEvent((): void => {
    if (!table.current) return;
    for (const body of table.current.tBodies) {
      const index = body.dataset["page"];
      if (index !== undefined) heightsPx.current[Number(index)] = body.offsetHeight;
    }
    const top = table.current.getBoundingClientRect().top;
    const heights = pages.map(({ items }, index) => heightsPx.current[index] ?? Math.max(items.length, 1) * rowPx);
    const seen = nearOf(heights, { top: -top - MARGIN_PX, bottom: -top + innerHeight + MARGIN_PX });
    setNear((before) => (isSame(before, seen) ? before : seen));
    const last = pages.at(-1)!;
    if (seen.to === pages.length - 1 && seen.isEndNear && typeof last.next === "string")
      setPages([...pages, { after: last.next, items: [], next: undefined }]);
  });

  useLayoutEffect(() => void (heightsPx.current = kept.get(name)?.heightsPx ?? []), [kept, name]);
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
  useEffect(() => {
    kept.delete(name);
    kept.set(name, { pages, heightsPx: heightsPx.current });
    for (const old of [...kept.keys()].slice(0, -MAX_KEPT)) kept.delete(old);
  }, [kept, name, pages]);

  return {
    table,
    near: pages.slice(near.from, near.to + 1).map(({ after }, index) => ({
      key: String(after),
      index: near.from + index,
      after,
    })),
    beforePx: near.beforePx,
    afterPx: near.afterPx,
    items: pages.flatMap(({ items }) => items),
    isWhole: pages.at(-1)!.next === null,
    isBusy: pages[0]!.next === undefined && !isRefused,
    round,
    policyOf: (after) => {
      const isNew = !visited.has(after);
      visited.add(after);
      return isNew ? "cache-and-network" : "cache-first";
    },
    tell: (index, items, next) => {
      setIsRefused(false);
      setPages((before) => withPage(before, index, { items, next }));
    },
    tellRefused: () => setIsRefused(true),
    readAgain: ({ fromStart } = { fromStart: false }) => {
      visited.clear();
      setRound((before) => before + 1);
      if (fromStart) setPages((before) => before.slice(0, 1));
    },
  };
}

/** When a page ends elsewhere than it did, those after it begin elsewhere, too. */
function withPage<Item>(
  pages: readonly Page<Item>[],
  index: number,
  read: Pick<Page<Item>, "items" | "next">,
): readonly Page<Item>[] {
  const page = pages[index];
  if (!page || (page.items === read.items && page.next === read.next)) return pages;
  const following = pages[index + 1]?.after === read.next ? pages.slice(index + 1) : [];
  return [...pages.slice(0, index), { after: page.after, ...read }, ...following];
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

function keptOf(client: Client): Map<string, Kept> {
  let kept = lists.get(client);
  if (!kept) lists.set(client, (kept = new Map()));
  return kept;
}
