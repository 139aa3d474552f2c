/**
 * The list of every page. It says that it is loading, empty or refused. A list without an end has `usePages`, which reads more as one
 * goes down; any other is given the one page that was read.
 */
import type { ReactNode } from "react";
import { Button } from "@mantine/core";
import type { AnyVariables } from "@urql/core";
import { PageOfRows } from "./page-of-rows.tsx";
import { ListProblem, Rows, type PageRead } from "./rows.tsx";
import { Table, type Column } from "./table.tsx";
import { MAX_FRESH } from "./use-fresh.ts";
import type { Pages } from "./use-pages.ts";
import classes from "./list.module.css";

type Drawn<Item> = {
  columns: readonly Column[];
  /** Its tables' own class. */
  className: string | undefined;
  renderRow: (item: Item) => ReactNode;
};

type OnePage<Item> = Drawn<Item> & {
  page: PageRead<Item>;
  /** Divides the rows among several tables. */
  inTables?: (items: readonly Item[], tableOf: (items: readonly Item[]) => ReactNode) => ReactNode;
};

type ManyPages<Item, Data, Variables extends AnyVariables> = Drawn<Item> & {
  pages: Pages<Item, Data, Variables>;
  /** So many bars stand there until the first rows have come, and until more have. */
  toCome?: { first: number; more: number };
};

type Props<Item, Data, Variables extends AnyVariables> = {
  /** As in "Loading the API keys". */
  what: string;
  /** New rows wait behind a button, so that no row moves under the pointer: how many there are, and showing them. */
  fresh?: { count: number; onShow: () => void };
  /** In the place of a list without rows. */
  empty?: ReactNode;
  above?: ReactNode;
  below?: ReactNode;
} & (OnePage<Item> | ManyPages<Item, Data, Variables>);

const TO_COME = { first: 12, more: 4 };
/** The bars of a list that is one page. */
const FEW = 5;

export function List<Item, Data, Variables extends AnyVariables>(props: Props<Item, Data, Variables>) {
  const { what, fresh, empty, above, below } = props;
  const { isBusy, isEmpty } = "pages" in props ? props.pages : stateOf(props.page);
  return (
    <>
      {isBusy && (
        <span className="visually-hidden" role="status">
          Loading {what}
        </span>
      )}
      {fresh && <ShowNew {...fresh} />}
      {above}
      {isEmpty && empty}
      {"pages" in props ? <EndlessTable {...props} /> : <ReadTables {...props} />}
      {below}
    </>
  );
}

const stateOf = ({ items, refusal }: PageRead<unknown>) => ({
  isBusy: !items && !refusal,
  isEmpty: items?.length === 0,
});

/** The pages near the screen, and the room of the others. */
function EndlessTable<Item, Data, Variables extends AnyVariables>(props: ManyPages<Item, Data, Variables>) {
  const { pages, columns, className, renderRow, toCome = TO_COME } = props;
  const { table, near, beforePx, afterPx, isBusy, isEmpty, isRefused } = pages;
  return (
    // It stays while there is nothing in it: its one page is what says so, and why that is not read again.
    <div hidden={isEmpty && !isRefused}>
      <Table ref={table} columns={columns} className={className} isBusy={isBusy}>
        <Spacer px={beforePx} columns={columns.length} />
        {near.map(({ key, index, after }) => (
          <PageOfRows
            key={key}
            {...{ pages, index, after, columns, renderRow }}
            toCome={index === 0 ? toCome.first : toCome.more}
          />
        ))}
        <Spacer px={afterPx} columns={columns.length} />
      </Table>
    </div>
  );
}

/** The rows of the one page, or what stands in their place. Rows that were read stay below the reason why they are not read again. */
function ReadTables<Item>({ page, columns, className, renderRow, inTables }: OnePage<Item>) {
  const { items, refusal, readAgain } = page;
  const { isBusy, isEmpty } = stateOf(page);
  const tableOf = (some: PageRead<Item>["items"]): ReactNode => (
    <Table columns={columns} className={className} isBusy={isBusy}>
      <Rows
        page={{ items: some, refusal: items ? undefined : refusal, readAgain }}
        index={0}
        {...{ columns, renderRow }}
        toCome={FEW}
      />
    </Table>
  );
  return (
    <>
      {items && refusal && <ListProblem refusal={refusal} readAgain={readAgain} />}
      {!isEmpty && (items && inTables ? inTables(items, tableOf) : tableOf(items))}
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
