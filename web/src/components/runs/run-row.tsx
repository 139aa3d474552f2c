import { memo, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Checkbox } from "@mantine/core";
import type { ListedRunFragment } from "../../api/documents.ts";
import { shortId } from "../../lib/ids.ts";
import { durationText } from "../../lib/times.ts";
import { StatusMark } from "../status-mark.tsx";
import type { Column } from "../table/table.tsx";
import { Since, Time } from "../time.tsx";
import classes from "./runs-table.module.css";

/** `box`: what chooses all. */
export const columnsOf = (hasAgent: boolean, box?: ReactNode): readonly Column[] => [
  { word: "Select", isSilent: true, head: box, className: classes["choose"] },
  { word: "Status", className: classes["status"] },
  ...(hasAgent ? [{ word: "Agent", className: classes["main"] }] : []),
  { word: "Run", className: hasAgent ? classes["id"] : classes["main"] },
  { word: "About", className: classes["about"] },
  { word: "Started by", className: classes["by"] },
  { word: "Started", className: classes["when"] },
  { word: "Took", className: classes["took"] },
];

type Props = {
  run: ListedRunFragment;
  hasAgent: boolean;
  isChosen: boolean;
  /** Undefined: the caller may do nothing with those that are chosen. */
  onChoose: ((id: string, isRange: boolean) => void) | undefined;
};

export const RunRow = memo(({ run, hasAgent, isChosen, onChoose }: Props) => {
  const { id, status, agent, version, startedBy, createdAt, startedAt, finishedAt, summary } = run;
  const code = <code>{shortId(id)}</code>;
  return (
    <tr data-chosen={isChosen || undefined}>
      <td className={classes["choose"]}>
        {onChoose && (
          <Checkbox
            size="xs"
            checked={isChosen}
            aria-label={`Select ${shortId(id)}`}
            onChange={(event) => onChoose(id, (event.nativeEvent as unknown as MouseEvent).shiftKey)}
          />
        )}
      </td>
      <td className={classes["status"]}>
        <StatusMark status={status} />
      </td>
      <td className={classes["main"]}>
        <Link to="/runs/$runId" params={{ runId: id }} className={classes["name"]} data-line={id}>
          {hasAgent ? agent.name : code}
        </Link>{" "}
        <span className="dim">{version}</span>
      </td>
      {hasAgent && <td className={classes["id"]}>{code}</td>}
      <td className={classes["about"]}>{summary && <About summary={summary} />}</td>
      <td className={classes["by"]} title={startedBy.name}>
        {startedBy.name}
      </td>
      <td className={classes["when"]}>
        <Time at={createdAt} />
      </td>
      <td className={classes["took"]}>
        {finishedAt ? (
          durationText(Date.parse(finishedAt) - Date.parse(startedAt ?? createdAt))
        ) : startedAt ? (
          <Since at={startedAt} />
        ) : null}
      </td>
    </tr>
  );
});
RunRow.displayName = "RunRow";

/** Why the run failed or its step, then its input. */
function About({ summary: { input, step, error } }: { summary: NonNullable<ListedRunFragment["summary"]> }) {
  const given = input.map(({ title, text }) => `${title}: ${text}`).join(", ");
  return (
    <span className={classes["brief"]} title={[error ?? (step && `at ${step}`), given].filter(Boolean).join("\n")}>
      {error && <span className={classes["why"]}>{error}</span>}
      {step && <span className={classes["step"]}>at {step}</span>}
      {given && (
        <span className={classes["given"]}>
          {input.map(({ title, text }, index) => (
            // oxlint-disable-next-line react/no-array-index-key -- two fields may have one title
            <span key={index}>
              <span className="dim">{title}</span> {text}
            </span>
          ))}
        </span>
      )}
    </span>
  );
}
