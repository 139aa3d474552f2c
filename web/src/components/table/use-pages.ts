/**
 * A list of any length, read page by page as one goes down, each by the cursor at the end of the one before. A list that one comes
 * back to is as it was left.
 */
import { useCallback, useEffect, useRef, useState, type RefObject } from "react";
import type { AnyVariables, Client, RequestPolicy, TypedDocumentNode } from "@urql/core";
import { useClient } from "urql";
import { useNear } from "./use-near.ts";

export const OF_A_PAGE = 50;
/** Lists that are kept for somebody who comes back. */
const MAX_KEPT = 8;

type Connection<Item> = { nodes: Item[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } };

/** How a page is asked for. */
type PageQuery<Item, Data, Variables extends AnyVariables> = {
  query: TypedDocumentNode<Data, Variables>;
  variablesOf: (page: { first: number; after: string | null }) => Variables;
  connectionOf: (data: Data) => Connection<Item> | null | undefined;
};

type Page<Item> = {
  after: string | null;
  items: readonly Item[];
  /** Where the next page begins; null: this is the last one; undefined: it was not read yet. */
  next: string | null | undefined;
};
type Kept = { pages: readonly Page<unknown>[]; heightsPx: number[] };

export type Pages<Item, Data, Variables extends AnyVariables> = PageQuery<Item, Data, Variables> & PagesRead<Item>;

/** The pages of a list that were read so far, and reading others. */
export type PagesRead<Item> = {
  table: RefObject<HTMLTableElement | null>;
  /** Those to be drawn. */
  near: readonly { key: string; index: number; after: string | null }[];
  beforePx: number;
  afterPx: number;
  /** All that were read so far. */
  items: readonly Item[];
  /** There are no more. */
  isWhole: boolean;
  isEmpty: boolean;
  /** The first have not come yet, and are not refused. */
  isBusy: boolean;
  /** Reading the first page was refused, the last time. */
  isRefused: boolean;
  /** For the query of a page: the first time from the network, later from the cache. */
  policyOf(after: string | null): RequestPolicy;
  /** How often the list was read again. */
  round: number;
  /** The answer to a page's query. */
  tell(index: number, items: readonly Item[], next: string | null): void;
  /** Whether a page's query was refused. */
  tellRefused(index: number, isRefused: boolean): void;
  /** Reads what is near again; its rows stay where they are meanwhile. `fromStart`: only the first page stays. */
  readAgain(options?: { fromStart: boolean }): void;
};

const FIRST: readonly Page<never>[] = [{ after: null, items: [], next: undefined }];
const lists = new WeakMap<Client, Map<string, Kept>>();

type Listed<Item, Data, Variables extends AnyVariables> = PageQuery<Item, Data, Variables> & {
  /** The list's, with its filters; a component shows one list as long as it lives. */
  name: string;
  rowPx: number;
};

export function usePages<Item, Data, Variables extends AnyVariables>({
  name,
  rowPx,
  ...asked
}: Listed<Item, Data, Variables>): Pages<Item, Data, Variables> {
  const { left, keep } = useKept(name);
  const [pages, setPages] = useState(() => (left?.pages ?? FIRST) as readonly Page<Item>[]);
  const { round, policyOf, nextRound } = useRounds();
  const [isRefused, setIsRefused] = useState(false);
  const table = useRef<HTMLTableElement>(null);
  const { next } = pages.at(-1)!;
  const { from, to, beforePx, afterPx, heightsPx } = useNear({
    table,
    counts: pages.map(({ items }) => items.length),
    rowPx,
    keptHeightsPx: left?.heightsPx ?? [],
    onEndNear: () => {
      if (typeof next === "string") setPages([...pages, { after: next, items: [], next: undefined }]);
    },
  });
  useEffect(() => keep({ pages, heightsPx: heightsPx.current }), [keep, pages, heightsPx]);
  const items = pages.flatMap((page) => page.items);
  return {
    ...asked,
    table,
    near: pages.slice(from, to + 1).map(({ after }, index) => ({ key: String(after), index: from + index, after })),
    beforePx,
    afterPx,
    items,
    isWhole: next === null,
    isEmpty: next === null && items.length === 0,
    isBusy: pages[0]!.next === undefined && !isRefused,
    isRefused,
    round,
    policyOf,
    tell: (index, read, nextPage) => setPages((before) => withPage(before, index, { items: read, next: nextPage })),
    tellRefused: (index, isPageRefused) => {
      if (index === 0) setIsRefused(isPageRefused);
    },
    readAgain: ({ fromStart } = { fromStart: false }) => {
      nextRound();
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

/** A page is asked for from the network once in a round, and comes from the cache later. */
function useRounds() {
  const [round, setRound] = useState(0);
  const [asked] = useState(() => new Set<string | null>());
  const policyOf = (after: string | null): RequestPolicy => {
    const isNew = !asked.has(after);
    asked.add(after);
    return isNew ? "cache-and-network" : "cache-first";
  };
  const nextRound = (): void => {
    asked.clear();
    setRound((before) => before + 1);
  };
  return { round, policyOf, nextRound };
}

/** A list as it was left, and what keeps it for the next time. */
function useKept(name: string): { left: Kept | undefined; keep: (list: Kept) => void } {
  const client = useClient();
  const [left] = useState(() => lists.get(client)?.get(name));
  const keep = useCallback(
    (list: Kept): void => {
      let kept = lists.get(client);
      if (!kept) lists.set(client, (kept = new Map()));
      kept.delete(name);
      kept.set(name, list);
      for (const old of [...kept.keys()].slice(0, -MAX_KEPT)) kept.delete(old);
    },
    [client, name],
  );
  return { left, keep };
}
