/** Below a list of the settings: the ways to other pages of it, and reading it again. */
import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import type { UseQueryState } from "urql";
import { ReadAgain } from "./read-again.tsx";
import classes from "./settings.module.css";
import type { Caller } from "./use-caller.ts";

const NONE = {};

type PagesProps = {
  part: "keys" | "members" | "secrets" | "models";
  /** The items of its pages, where the part has another name. */
  what?: string;
  /** The rest of the address. */
  base?: { project?: string };
  /** The page begins after this one. */
  after: string | undefined;
  next: { hasNextPage: boolean; endCursor: string | null } | undefined;
};

type Props = {
  asked: Pick<UseQueryState, "data" | "fetching" | "stale" | "error">;
  /** A notice says so, and what to do next. */
  isEmpty?: boolean | undefined;
  pages?: PagesProps;
  /** Between the links to other pages and reading again. */
  children?: ReactNode;
  readAgain: () => void;
  caller: Caller;
};

export const ListFoot = ({ asked, isEmpty = false, pages, children, readAgain, caller }: Props) => (
  <>
    {pages && <OtherPages {...pages} />}
    {children}
    <ReadAgain {...{ asked, isEmpty, readAgain, caller }} />
  </>
);

/** To the first page of a long list, and to the next. */
function OtherPages({ part, what = part, base = NONE, after, next }: PagesProps) {
  const link = { to: "/settings/$part", params: { part }, className: "link" } as const;
  if (after === undefined && !next?.hasNextPage) return null;
  return (
    <nav aria-label="Pages" className={classes["pages"]}>
      {after !== undefined && (
        <Link {...link} search={base}>
          First {what}
        </Link>
      )}
      {next?.hasNextPage && (
        <Link {...link} search={{ ...base, after: next.endCursor! }}>
          Next {what}
        </Link>
      )}
    </nav>
  );
}
