/** The frame of every list of the settings: its problem, loading, empty, its rows, the ways to other pages of it, and reading it again. */
import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import type { UseQueryState } from "urql";
import { refusalIn } from "../../api/refusal.ts";
import { Loading } from "../../components/loading.tsx";
import { Problem } from "../../components/notice.tsx";
import { ReadAgain } from "./read-again.tsx";
import classes from "./settings.module.css";
import type { Caller } from "./use-caller.ts";

const NONE = {};

type PagesProps = {
  part: "keys" | "members" | "secrets";
  /** The rest of the address. */
  base?: { project?: string };
  /** The page begins after this one. */
  after: string | undefined;
  next: { hasNextPage: boolean; endCursor: string | null } | undefined;
};

type Props = {
  /** As in "Loading the API keys". */
  what: string;
  asked: Pick<UseQueryState, "data" | "fetching" | "stale" | "error">;
  /** Undefined until they are read. */
  rows: readonly unknown[] | undefined;
  /** In the place of a list without rows. */
  empty?: ReactNode;
  children: ReactNode;
  pages?: PagesProps;
  /** Below the links to other pages. */
  below?: ReactNode;
  readAgain: () => void;
  caller: Caller;
};

export const Listed = ({ what, asked, rows, empty, children, pages, below, readAgain, caller }: Props) => (
  <>
    {asked.error && <Problem refusal={refusalIn(asked.error)} />}
    {!rows && !asked.error && <Loading label={`Loading ${what}`} lines={5} />}
    {rows?.length === 0 && empty}
    {rows && rows.length > 0 && children}
    {pages && <Pages {...pages} />}
    {below}
    <ReadAgain
      asked={asked}
      isEmpty={empty !== undefined && rows?.length === 0}
      readAgain={readAgain}
      caller={caller}
    />
  </>
);

/** To the first page of a long list, and to the next. */
function Pages({ part, base = NONE, after, next }: PagesProps) {
  const link = { to: "/settings/$part", params: { part }, className: "link" } as const;
  if (after === undefined && !next?.hasNextPage) return null;
  return (
    <nav aria-label="Pages" className={classes["pages"]}>
      {after !== undefined && (
        <Link {...link} search={base}>
          First {part}
        </Link>
      )}
      {next?.hasNextPage && (
        <Link {...link} search={{ ...base, after: next.endCursor! }}>
          Next {part}
        </Link>
      )}
    </nav>
  );
}
