import { useEffect, useRef, useState, type ReactNode } from "react";
import type { AnyVariables, TypedDocumentNode } from "@urql/core";
import { useRead } from "../../api/hooks.ts";
import { refusalIn } from "../../api/refusal.ts";
import { RefusedRows } from "./refused-rows.tsx";
import { RowsToCome, type Column } from "./table.tsx";
import type { Pages } from "./use-pages.ts";

type Connection<Item> = { nodes: Item[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } };

/** The query for a list's pages, and how a row is drawn. */
export type PageQuery<Item, Data, Variables> = {
  query: TypedDocumentNode<Data, Variables>;
  /** The variables of the page after `after`. */
  variables: Variables;
  connectionOf: (data: Data) => Connection<Item> | null | undefined;
  renderRow: (item: Item) => ReactNode;
  /** So many rows stand there until the first have come, and until more have. */
  toCome?: { first: number; more: number };
};

type Props<Item, Data, Variables> = PageQuery<Item, Data, Variables> & {
  pages: Pages<Item>;
  index: number;
  after: string | null;
  columns: readonly Column[];
};

const TO_COME = { first: 12, more: 4 };

/** One page of a long list: it asks for its rows, and again when the list is read again. */
export function PageOfRows<Item, Data, Variables extends AnyVariables>({
  pages: { policyOf, tell, tellRefused, round },
  index,
  after,
  columns,
  query,
  variables,
  connectionOf,
  renderRow,
  toCome = TO_COME,
}: Props<Item, Data, Variables>) {
  const [requestPolicy] = useState(() => policyOf(after));
  const [{ data, error }, readAgain] = useRead({ query, variables, requestPolicy });
  const page = data && connectionOf(data);
  useEffect(() => {
    if (page) tell(index, page.nodes, page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null);
    else if (error) tellRefused();
  });
  const readIn = useRef(round);
  useEffect(() => {
    if (readIn.current === round) return;
    readIn.current = round;
    readAgain();
  });
  if (!page && error)
    return <RefusedRows index={index} columns={columns.length} refusal={refusalIn(error)} onAgain={readAgain} />;
  if (!page) return <RowsToCome columns={columns} count={index === 0 ? toCome.first : toCome.more} />;
  return <tbody data-page={index}>{page.nodes.map(renderRow)}</tbody>;
}
