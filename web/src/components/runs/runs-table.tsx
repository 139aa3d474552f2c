/** Runs, newest first, live: rows change where they stand, and new ones wait behind a button. */
import { useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { Button, Checkbox } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { RunsChangedDocument, RunsDocument, type RunFilter, type ListedRunFragment } from "../../api/documents.ts";
import { useLive } from "../../api/hooks.ts";
import { useMay } from "../../api/use-may.ts";
import { Empty } from "../notice.tsx";
import { List } from "../table/list.tsx";
import { useFresh } from "../table/use-fresh.ts";
import { useListKeys } from "../table/use-list-keys.ts";
import { usePages, type PagesRead } from "../table/use-pages.ts";
import { CancelChosen, runsText } from "./cancel-chosen.tsx";
import { chooseIn } from "./choose-runs.ts";
import { columnsOf, RunRow } from "./run-row.tsx";
import classes from "./runs-table.module.css";

const ROW_PX = 36;
const NONE: ReadonlySet<string> = new Set();

type Props = {
  filter: RunFilter;
  /** Columns say whose runs they are. */
  hasAgent?: boolean;
  onFilter?: () => void;
  /** In place of a list without runs. */
  empty?: ReactNode;
};

export const RunsTable = (props: Props) => <RunsOfFilter key={JSON.stringify(props.filter)} {...props} />;

function RunsOfFilter({ filter, hasAgent = true, onFilter, empty }: Props) {
  const pages = usePages({
    name: `runs ${JSON.stringify(filter)}`,
    rowPx: ROW_PX,
    query: RunsDocument,
    variablesOf: (page) => ({ filter, ...page }),
    connectionOf: ({ runs }) => runs,
  });
  const { items, table, isWhole } = pages;
  const fresh = useFreshRuns(pages, filter);
  const { chosen, isAllChosen, choose, chooseAll, clear } = useChosenRuns(items);
  const onChoose = useMay().may("runs:cancel") ? choose : undefined;
  useListKeys({ list: table, ...(onChoose && { onChoose }), ...(onFilter && { onFilter }) });
  const box = onChoose && (
    <Checkbox
      size="xs"
      aria-label="Select all loaded runs"
      checked={isAllChosen}
      indeterminate={chosen.size > 0 && !isAllChosen}
      onChange={chooseAll}
    />
  );
  const ended = new Set(chosen.size === 0 ? [] : items.filter(({ finishedAt }) => finishedAt).map(({ id }) => id));
  return (
    <div className={classes["runs"]}>
      <List
        what="the runs"
        pages={pages}
        columns={columnsOf(hasAgent, box)}
        className={classes["table"]}
        fresh={fresh}
        empty={empty ?? <NoRuns />}
        renderRow={(run) => (
          <RunRow key={run.id} run={run} hasAgent={hasAgent} isChosen={chosen.has(run.id)} onChoose={onChoose} />
        )}
        below={isWhole && items.length > 0 && <p className={classes["end"]}>{runsText(items.length)}</p>}
      />
      {chosen.size > 0 && (
        <CancelChosen
          key={chosen.size}
          chosen={[...chosen]}
          open={[...chosen].filter((id) => !ended.has(id))}
          filter={isAllChosen && !isWhole ? filter : undefined}
          onDone={clear}
        />
      )}
    </div>
  );
}

/** The runs that have come meanwhile and belong into the list. */
function useFreshRuns({ items, isWhole, readAgain }: PagesRead<ListedRunFragment>, filter: RunFilter) {
  const { count, add, clear } = useFresh();
  const known = useMemo(() => new Set(items.map(({ id }) => id)), [items]);
  const oldest = isWhole ? "" : items.at(-1)?.createdAt;
  useLive(
    RunsChangedDocument,
    { projectId: onlyOne(filter.projectId), agentId: onlyOne(filter.agentId) },
    {
      onMissed: readAgain,
      onData: ({ runsChanged }) => {
        const isNew = oldest !== undefined && !known.has(runsChanged.id) && runsChanged.createdAt > oldest;
        if (isNew && fits(runsChanged, filter)) add(runsChanged.id);
      },
    },
  );
  const onShow = (): void => {
    clear();
    readAgain({ fromStart: true });
    scrollTo({ top: 0 });
  };
  return { count, onShow };
}

/** The ids of the runs that were chosen, and what chooses others. */
function useChosenRuns(items: readonly ListedRunFragment[]) {
  const [chosen, setChosen] = useState(NONE);
  const latest = useRef(items);
  useEffect(() => void (latest.current = items), [items]);
  // The same one always: rows are drawn again only when their run changes.
  const choose = useCallback((id: string, isRange: boolean): void => {
    setChosen((before) => chooseIn(latest.current, before, { id, isRange }));
  }, []);
  const isAllChosen = items.length > 0 && items.every(({ id }) => chosen.has(id));
  const clear = (): void => setChosen(NONE);
  /** All that were read, or none if these are chosen. */
  const chooseAll = (): void => setChosen(isAllChosen ? NONE : new Set(items.map(({ id }) => id)));
  return { chosen, isAllChosen, choose, chooseAll, clear };
}

const NoRuns = () => (
  <Empty title="No runs here">
    <p>Start one from an agent&rsquo;s page, or by the API.</p>
    <Button component={Link} to="/agents" variant="default">
      Choose an agent
    </Button>
  </Empty>
);

const onlyOne = (ids: readonly string[] | string | null | undefined): string | null =>
  typeof ids === "string" ? ids : (ids?.[0] ?? null);

/** Its project and its agent the subscription goes by. */
const fits = ({ status, startedBy, createdAt }: ListedRunFragment, filter: RunFilter): boolean =>
  (!filter.status || filter.status.includes(status)) &&
  (!filter.startedBy?.kind || filter.startedBy.kind.includes(startedBy.kind)) &&
  (!filter.startedBy?.id || (startedBy.id !== null && filter.startedBy.id.includes(startedBy.id))) &&
  (!filter.createdFrom || createdAt >= filter.createdFrom) &&
  (!filter.createdBefore || createdAt < filter.createdBefore);
