import type { ReactNode, Ref } from "react";
import classes from "./table.module.css";

/** `isSilent`: the word is for screen readers alone, over a box or a button. `head`: in the word's place. */
export type Column = { word: string; isSilent?: true; head?: ReactNode; className?: string | undefined };

type Props = {
  columns: readonly Column[];
  /** This table's own class. */
  className?: string | undefined;
  isBusy?: boolean;
  ref?: Ref<HTMLTableElement>;
  /** `tbody`, one or several. */
  children: ReactNode;
};

export const Table = ({ columns, className, isBusy = false, ref, children }: Props) => (
  <table ref={ref} className={`${classes["table"]} ${className ?? ""}`} aria-busy={isBusy}>
    <thead>
      <tr>
        {columns.map(({ word, isSilent, head, className: ofColumn }) => (
          <th key={word} scope="col" className={ofColumn}>
            {head ?? (isSilent ? <span className="visually-hidden">{word}</span> : word)}
          </th>
        ))}
      </tr>
    </thead>
    {children}
  </table>
);
