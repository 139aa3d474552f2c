import { useEffect, useRef, useState, type ReactNode } from "react";
import type { AnyVariables } from "@urql/core";
import { useRead } from "../../api/hooks.ts";
import { pageIn, Rows } from "./rows.tsx";
import type { Column } from "./table.tsx";
import { OF_A_PAGE, type Pages } from "./use-pages.ts";

type Props<Item, Data, Variables extends AnyVariables> = {
  pages: Pages<Item, Data, Variables>;
  index: number;
  after: string | null;
  columns: readonly Column[];
  renderRow: (item: Item) => ReactNode;
  toCome: number;
};

/** One page of a list without an end: it asks for its rows, and again when the list is read again. */
export function PageOfRows<Item, Data, Variables extends AnyVariables>({
  pages: { query, variablesOf, connectionOf, policyOf, tell, tellRefused, round },
  index,
  after,
  ...drawn
}: Props<Item, Data, Variables>) {
  const [requestPolicy] = useState(() => policyOf(after));
  const variables = variablesOf({ first: OF_A_PAGE, after });
  const [asked, readAgain] = useRead({ query, variables, requestPolicy });
  const { data, error } = asked;
  const page = data && connectionOf(data);
  useEffect(() => {
    if (page) tell(index, page.nodes, page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null);
    tellRefused(index, error !== undefined);
  });
  const readIn = useRef(round);
  useEffect(() => {
    if (readIn.current === round) return;
    readIn.current = round;
    readAgain();
  });
  return <Rows page={pageIn(asked, page?.nodes, readAgain)} index={index} {...drawn} />;
}
