import type { ReactNode } from "react";
import { useTitle } from "../lib/use-title.ts";
import classes from "./entrance.module.css";

/** A page for those who are not in yet: one thing to do, in the middle. */
type Props = {
  title: string;
  lead?: ReactNode;
  /** There is more to read than a few fields. */
  isWide?: boolean;
  children: ReactNode;
};

export function Entrance({ title, lead, isWide = false, children }: Props) {
  useTitle(title);
  return (
    <main className={classes["page"]}>
      <div className={classes["card"]} data-wide={isWide || undefined}>
        <Mark />
        <h1>{title}</h1>
        {lead && <p className="dim">{lead}</p>}
        {children}
      </div>
      <p className={classes["foot"]}>
        Autograph {__VERSION__}: your own server for automation agents, their runs and the people who approve them.
      </p>
    </main>
  );
}

export function Mark({ size = 28 }: { size?: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#2747c7" />
      <path d="M7 24 15.4 7h1.2L25 24M11 18.5h10" fill="none" stroke="#fff" strokeWidth="2.8" strokeLinecap="round" />
    </svg>
  );
}
