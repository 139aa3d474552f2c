import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "@mantine/core";
import type { Refusal } from "../api/refusal.ts";
import classes from "./notice.module.css";

/** A failure and its remedy, with the request id for readers of the server's log. */
export function Problem({ refusal, action }: { refusal: Refusal; action?: ReactNode }) {
  return (
    <div className={classes["problem"]} role="alert">
      <p>{refusal.message}</p>
      {action}
      {refusal.requestId && (
        <details className={classes["details"]}>
          <summary>Details</summary>
          <p>
            {refusal.code}, request <code>{refusal.requestId}</code>
          </p>
        </details>
      )}
    </div>
  );
}

/** The action of a problem that may pass. */
export const TryAgain = ({ onClick }: { onClick: () => void }) => (
  <Button variant="default" size="compact-md" onClick={onClick}>
    Try again
  </Button>
);

/** A list that has nothing yet: what would stand here, and the way to it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={classes["empty"]}>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** `an owner`, `a viewer`. */
export const withArticle = (role: string): string => `${/^[aeio]/.test(role) ? "an" : "a"} ${role}`;

/** In the place of what the caller's role does not let them see. `what`: as in "see API keys"; `who`: those who may. */
export function NoPermission({ what, who, role }: { what: string; who: string; role: string | null }) {
  return (
    <Empty title={`You may not ${what}`}>
      <p>
        {who} may{role && `; you are ${withArticle(role)} here`}. Ask one of them:{" "}
        <Link to="/settings/$part" params={{ part: "members" }} search={{}} className="link">
          all members
        </Link>
      </p>
    </Empty>
  );
}
