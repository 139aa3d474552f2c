/** The rows of a page of a list, or bars while they are read; and the problem when that is refused, above the rows that were read before. */
import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import type { CombinedError } from "@urql/core";
import { refusalIn, type Refusal } from "../../api/refusal.ts";
import { Problem, TryAgain } from "../notice.tsx";
import type { Column } from "./table.tsx";
import classes from "./table.module.css";

/** A page's rows as far as they are known. */
export type PageRead<Item> = {
  /** Undefined until they are read. */
  items: readonly Item[] | undefined;
  /** Why they were not read, or not again. */
  refusal: Refusal | undefined;
  readAgain: () => void;
};

export const pageIn = <Item,>(
  { error }: { error?: CombinedError | undefined },
  items: readonly Item[] | undefined,
  readAgain: () => void,
): PageRead<Item> => ({ items, refusal: error && refusalIn(error), readAgain });

type Props<Item> = {
  page: PageRead<Item>;
  /** The page's place in its list. */
  index: number;
  columns: readonly Column[];
  renderRow: (item: Item) => ReactNode;
  /** How many bars stand there while the page is read. */
  toCome: number;
};

export function Rows<Item>({ page: { items, refusal, readAgain }, index, columns, renderRow, toCome }: Props<Item>) {
  if (!items && !refusal) return <RowsToCome columns={columns} count={toCome} />;
  return (
    <>
      {refusal && (
        <tbody data-still="refused">
          <tr>
            <td colSpan={columns.length}>
              <ListProblem refusal={refusal} readAgain={readAgain} />
            </td>
          </tr>
        </tbody>
      )}
      {items && <tbody data-page={index}>{items.map(renderRow)}</tbody>}
    </>
  );
}

/** Why a list was not read, and the way on. */
export const ListProblem = ({ refusal, readAgain }: { refusal: Refusal; readAgain: () => void }) => (
  <Problem
    refusal={refusal}
    action={
      // The filter names what does not exist or is not visible to the user: asking again does not help.
      refusal.code === "NOT_FOUND" ? (
        <Link to="." search={{ project: undefined }} className="link">
          Show all
        </Link>
      ) : (
        <TryAgain onClick={readAgain} />
      )
    }
  />
);

const WIDTHS = ["64%", "80%", "52%", "72%"];

/** Bars as high as the rows that will stand there. */
const RowsToCome = ({ columns, count }: { columns: readonly Column[]; count: number }) => (
  <tbody data-still="loading" aria-hidden="true">
    {Array.from({ length: count }, (_, row) => (
      <tr key={row}>
        {columns.map(({ word, isSilent, className }, column) => (
          <td key={word} className={className}>
            {!isSilent && <span className={classes["bar"]} style={{ width: WIDTHS[(row + column) % WIDTHS.length] }} />}
          </td>
        ))}
      </tr>
    ))}
  </tbody>
);
