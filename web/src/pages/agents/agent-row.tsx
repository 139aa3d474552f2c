import { memo } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "@mantine/core";
import type { AgentRowFragment } from "../../api/documents.ts";
import { RunStrip } from "../../components/run-strip.tsx";
import { StatusMark } from "../../components/status-mark.tsx";
import type { Column } from "../../components/table/table.tsx";
import { Time } from "../../components/time.tsx";
import { TriggerChips } from "../../components/trigger-chips.tsx";
import { completedOf } from "./agent-figures.ts";
import classes from "./agents.module.css";

export const COLUMNS: readonly Column[] = [
  { word: "Status", className: classes["status"] },
  { word: "Agent", className: classes["main"] },
  { word: "Triggers", className: classes["triggers"] },
  { word: "Last 20 runs", className: classes["runs"] },
  { word: "Completed", className: classes["completed"] },
  { word: "Last run", className: classes["last"] },
  { word: "Run", isSilent: true, className: classes["action"] },
];

type Props = { agent: AgentRowFragment; hasProjects: boolean; mayRun: boolean };

/** Drawn again only when its agent changes. */
export const AgentRow = memo(function AgentRow({ agent, hasProjects, mayRun }: Props) {
  const { id, name, handle, status, version, project, triggers, runs } = agent;
  const last = runs.nodes[0];
  const completed = completedOf(runs.nodes);
  return (
    <tr>
      <td className={classes["status"]}>
        <StatusMark status={status} />
      </td>
      <td className={classes["main"]}>
        <Link to="/agents/$agentId" params={{ agentId: id }} className={classes["name"]} data-line={id}>
          {name}
        </Link>{" "}
        <span className={classes["handle"]}>
          {hasProjects && `${project.handle} / `}
          {handle} {version}
        </span>
      </td>
      <td className={classes["triggers"]} data-empty={triggers.nodes.length === 0 || undefined}>
        <TriggerChips triggers={triggers.nodes} hasMore={triggers.pageInfo.hasNextPage} />
      </td>
      <td className={classes["runs"]} data-empty={!last || undefined}>
        {last && <RunStrip agentId={id} runs={runs.nodes} />}
      </td>
      <td className={classes["completed"]} title={completed?.title}>
        {completed?.text}
      </td>
      <td className={classes["last"]} data-empty={!last || undefined}>
        {last && (
          <Link to="/runs/$runId" params={{ runId: last.id }} className={classes["last-run"]}>
            <Time at={last.createdAt} />
          </Link>
        )}
      </td>
      <td className={classes["action"]}>
        {mayRun && status === "active" && (
          <Button component={Link} to={`/agents/${id}`} variant="default" size="compact-sm" aria-label={`Run ${name}`}>
            Run
          </Button>
        )}
      </td>
    </tr>
  );
});
