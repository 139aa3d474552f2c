import type { ReactNode } from "react";
import { Link, type LinkProps } from "@tanstack/react-router";
import { useTitle } from "../lib/use-title.ts";
import classes from "./page-head.module.css";

type Props = {
  /** The pages that this one is within. */
  path?: readonly (Pick<LinkProps, "to" | "params" | "search"> & { word: string })[];
  title: string;
  /** The tab's title, if it is another one. */
  tabTitle?: string;
  mark?: ReactNode;
  aside?: ReactNode;
  /** Facts, in a line of their own below the title. */
  facts?: ReactNode;
  /** Buttons. */
  children?: ReactNode;
};

/** The path to a page is not the page. */
const ONLY_ITSELF = { exact: true };

export function PageHead({ path, title, tabTitle = title, mark, aside, facts, children }: Props) {
  useTitle(tabTitle);
  return (
    <header className={classes["head"]}>
      {path && (
        <nav aria-label="Path" className={classes["path"]}>
          {path.map(({ word, ...link }) => (
            <Link key={word} {...link} activeOptions={ONLY_ITSELF}>
              {word}
            </Link>
          ))}
        </nav>
      )}
      <div className={classes["line"]}>
        <h1>{title}</h1>
        {mark}
        {aside}
        {children && <div className={classes["actions"]}>{children}</div>}
      </div>
      {facts && <p className={classes["facts"]}>{facts}</p>}
    </header>
  );
}
