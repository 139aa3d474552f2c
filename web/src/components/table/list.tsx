/**
 * The list component of every page whose list has no end: it says that it is loading, empty or refused, reads more as one goes down, and
 * keeps new rows behind a button, so that no row moves under the pointer.
 */
import type { ReactNode } from "react";
import { Button } from "@mantine/core";
import type { AnyVariables } from "@urql/core";
import { PageOfRows, type PageQuery } from "./page-of-rows.tsx";
import { Table, type Column } from "./table.tsx";
import { MAX_FRESH } from "./use-fresh.ts";
import { OF_A_PAGE, type Pages } from "./use-pages.ts";
import classes from "./list.module.css";

type Props<Item, Data, Variables extends AnyVariables> = Omit<PageQuery<Item, Data, Variables>, "variables"> & {
  pages: Pages<Item>;
  columns: readonly Column[];
  className: string | undefined;
  variablesOf: (page: { first: number; after: string | null }) => Variables;
  /** How many rows are new, and showing them. */
  fresh: number;
  onShowFresh: () => void;
  /** In the place of a list without rows. */
  empty: ReactNode;
  /** Above the rows. */
  children?: ReactNode;
};

export function List<Item, Data, Variables extends AnyVariables>({
  pages,
  columns,
  className,
  variablesOf,
  fresh,
  onShowFresh,
  empty,
  children,
  ...query
}: Props<Item, Data, Variables>) {
  const { table, near, beforePx, afterPx, items, isWhole, isBusy } = pages;
  const isEmpty = isWhole && items.length === 0;
  return (
    <>
      <ShowNew count={fresh} onShow={onShowFresh} />
      {children}
      {isEmpty && empty}
      {/* It stays while there is nothing in it: its one page is what says so. */}
      <div hidden={isEmpty}>
        <Table ref={table} columns={columns} className={className} isBusy={isBusy}>
          <Spacer px={beforePx} columns={columns.length} />
          {near.map(({ key, index, after }) => (
            <PageOfRows
              key={key}
              {...query}
              {...{ pages, columns, index, after }}
              variables={variablesOf({ first: OF_A_PAGE, after })}
            />
          ))}
          <Spacer px={afterPx} columns={columns.length} />
        </Table>
      </div>
    </>
  );
}

const ShowNew = ({ count, onShow }: { count: number; onShow: () => void }) => (
  <div className={classes["place"]} aria-live="polite">
    {count > 0 && (
      <Button size="compact-sm" radius="xl" onClick={onShow}>
        Show {count < MAX_FRESH ? count : `${MAX_FRESH.toLocaleString()}+`} new
      </Button>
    )}
  </div>
);

/** The room of rows that are not in the document. One column more than the table has would take room from all. */
const Spacer = ({ px, columns }: { px: number; columns: number }) =>
  px > 0 && (
    <tbody data-still="spacer" aria-hidden="true">
      <tr>
        <td colSpan={columns} style={{ height: px, lineHeight: 0 }}>
          &nbsp;
        </td>
      </tr>
    </tbody>
  );
