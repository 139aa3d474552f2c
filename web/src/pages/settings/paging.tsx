import { Link } from "@tanstack/react-router";
import classes from "./settings.module.css";

const NONE = {};

type PagingProps = {
  part: "keys" | "members" | "secrets";
  /** What else stands in the address. */
  base?: { project?: string };
  /** The page begins after this one. */
  after: string | undefined;
  next: { hasNextPage: boolean; endCursor: string | null } | undefined;
};

/** To the first page of a long list, and to the next. */
export function Paging({ part, base = NONE, after, next }: PagingProps) {
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
