import type { ReactNode } from "react";
import { Link, type LinkProps } from "@tanstack/react-router";
import classes from "./tabs.module.css";

type Tab = { name: string; word: string; link: LinkProps };

/** Tabs differ in what follows `?` alone. */
const ALL_OF_IT = { exact: true, includeSearch: true };

/** On narrow screens tabs scroll. */
const bringIntoView = (tab: HTMLAnchorElement | null): void =>
  tab?.scrollIntoView({ block: "nearest", inline: "center" });

/** Parts of one page, each with an address of its own. */
export function Tabs({
  label,
  chosen,
  tabs,
  children,
}: {
  label: string;
  chosen: string;
  tabs: readonly Tab[];
  children: ReactNode;
}) {
  return (
    <>
      <nav className={classes["tabs"]} aria-label={label}>
        {tabs.map(({ name, word, link }) => (
          <Link
            key={name}
            {...link}
            activeOptions={ALL_OF_IT}
            className={classes["tab"]}
            aria-current={name === chosen ? "page" : undefined}
            ref={name === chosen ? bringIntoView : undefined}
          >
            {word}
          </Link>
        ))}
      </nav>
      {children}
    </>
  );
}
