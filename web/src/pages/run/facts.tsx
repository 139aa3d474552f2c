/** The facts of a run, in a line below its title. */
import { Link } from "@tanstack/react-router";
import type { RunHeadFragment, RunPageQuery } from "../../api/documents.ts";
import { Time } from "../../components/time.tsx";
import { shortId } from "../../lib/ids.ts";
import { isObject, type Json } from "../../lib/json.ts";
import { usageParts, usageText } from "../../lib/model-usage.ts";
import { durationText } from "../../lib/times.ts";
import { useNow } from "../../lib/use-now.ts";
import classes from "./run.module.css";
import { TICK_MS } from "./search.ts";

type Read = NonNullable<RunPageQuery["run"]>;

/** 1 for an input that is no object. */
export const fieldsIn = (input: unknown): number => (isObject(input as Json) ? Object.keys(input as object).length : 1);

export function Facts({ head, run: { input, runAt, usage, retryOf, parent } }: { head: RunHeadFragment; run: Read }) {
  const now = useNow(head.finishedAt ? undefined : TICK_MS);
  const from = Date.parse(head.startedAt ?? head.createdAt);
  const to = head.finishedAt ? Date.parse(head.finishedAt) : now;
  const fields = fieldsIn(input);
  return (
    <>
      <code title={head.id} className={classes["minor"]}>
        {shortId(head.id)}
      </code>
      <span className={classes["minor"]}>version {head.version}</span>
      <span>
        started by {head.startedBy.name}, <Time at={head.createdAt} isMoment />
      </span>
      {head.status === "pending" && runAt ? (
        <span>
          begins <Time at={runAt} />
        </span>
      ) : (
        <span>
          {head.finishedAt ? "took" : "for"} {durationText(to - from)}
        </span>
      )}
      <span className={classes["minor"]}>
        {fields === 0 ? "no input" : fields === 1 ? "1 input field" : `${fields} input fields`}
      </span>
      {usage && <span title={usageParts(usage)}>{usageText(usage)}</span>}
      {retryOf && <Other word="retry of" id={retryOf.id} />}
      {parent && <Other word="part of" id={parent.id} />}
    </>
  );
}

const Other = ({ word, id }: { word: string; id: string }) => (
  <span>
    {word}{" "}
    <Link to="/runs/$runId" params={{ runId: id }} className="link">
      {shortId(id)}
    </Link>
  </span>
);
