import { memo } from "react";
import { Link } from "@tanstack/react-router";
import type { EventLineFragment } from "../../api/documents.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { StatusMark } from "../../components/status-mark.tsx";
import type { Column } from "../../components/table/table.tsx";
import { Time } from "../../components/time.tsx";
import { shortId, shortText } from "../../lib/ids.ts";
import classes from "./events.module.css";

export const COLUMNS: readonly Column[] = [
  { word: "Event", className: classes["event"] },
  { word: "Source", className: classes["source"] },
  { word: "What it started", className: classes["started"] },
  { word: "Id", className: classes["id"] },
  { word: "Published by", className: classes["by"] },
  { word: "When", className: classes["when"] },
];

export const EventRow = memo(({ event: { id, event, source, sourceId, at, publishedBy, firings } }: Props) => (
  <tr>
    <td className={classes["event"]}>
      <Link to="/events/$eventId" params={{ eventId: id }} className={classes["name"]} data-line={id}>
        {event}
      </Link>
    </td>
    <td className={classes["source"]}>
      <Link to="/events" search={{ source }}>
        {source}
      </Link>
    </td>
    <td className={classes["started"]}>
      <Started firings={firings} />
    </td>
    <td className={classes["id"]} title={sourceId}>
      <code>{shortText(sourceId)}</code>
      <CopyButton text={sourceId} label="Copy its id" isIcon />
    </td>
    <td className={classes["by"]}>{publishedBy.name}</td>
    <td className={classes["when"]}>
      <Time at={at} />
    </td>
  </tr>
));
EventRow.displayName = "EventRow";

type Props = { event: EventLineFragment };

/** The newest firing stands for all; the event's page has the others. */
function Started({ firings: { nodes, pageInfo } }: Pick<EventLineFragment, "firings">) {
  const [first] = nodes;
  if (!first) return <span className="dim">nothing</span>;
  const hasMore = nodes.length > 1 || pageInfo.hasNextPage;
  return (
    <span className="line">
      <StatusMark status={first.run?.status ?? first.outcome} isBare={first.run !== null} />
      {first.run && (
        <Link to="/runs/$runId" params={{ runId: first.run.id }} className="link">
          {shortId(first.run.id)}
        </Link>
      )}
      {hasMore && <span className="dim">and more</span>}
    </span>
  );
}
