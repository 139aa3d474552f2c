/** Runs of all agents; the filters are the address. */
import { useState } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "@mantine/core";
import { Icon } from "../../components/icon.tsx";
import { Empty } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { RunsTable } from "../../components/runs/runs-table.tsx";
import { lookOf, RUN_STATUSES } from "../../lib/statuses.ts";
import { Filters } from "./filters.tsx";
import { filterOf, hasFilters, type RunsSearch } from "./run-filter.ts";
import classes from "./runs.module.css";

export function Runs({ search }: { search: RunsSearch }) {
  const [isFiltering, setIsFiltering] = useState(false);
  return (
    <div className="stack">
      <PageHead title="Runs" />
      <div className={classes["filters"]}>
        <nav className={classes["chips"]} aria-label="Status">
          <Chip search={{ ...search, status: undefined }} isChosen={search.status === undefined}>
            All
          </Chip>
          {RUN_STATUSES.map((one) => (
            <Chip key={one} search={{ ...search, status: one }} isChosen={one === search.status}>
              <Icon shape={lookOf(one).shape} size={14} />
              {one}
            </Chip>
          ))}
        </nav>
        <Filters search={search} isOpen={isFiltering} onOpen={setIsFiltering} />
      </div>
      <FilteredRuns key={search.when} search={search} onFilter={() => setIsFiltering(true)} />
    </div>
  );
}

/** A period by its name is one from when it was asked for: its edges stand still while one looks. */
function FilteredRuns({ search, onFilter }: { search: RunsSearch; onFilter: () => void }) {
  const [now] = useState(() => Date.now());
  const empty = hasFilters(search) && { empty: <NothingMatches search={search} /> };
  return <RunsTable filter={filterOf(search, now)} onFilter={onFilter} {...empty} />;
}

/** Only one of several links that differ in what follows `?` is the current one. */
const ALL_OF_IT = { exact: true, includeSearch: true, explicitUndefined: true };

type ChipProps = {
  search: { [Key in keyof RunsSearch]: RunsSearch[Key] | undefined };
  isChosen: boolean;
  children: React.ReactNode;
};

const Chip = ({ search, isChosen, children }: ChipProps) => (
  <Link
    to="/runs"
    search={search as RunsSearch}
    activeOptions={ALL_OF_IT}
    className={classes["chip"]}
    aria-current={isChosen ? "true" : undefined}
  >
    {children}
  </Link>
);

const NothingMatches = ({ search: { status, ...others } }: { search: RunsSearch }) => (
  <Empty
    title={
      status && !hasFilters(others) ? `No ${status} runs` : `No ${status ? `${status} ` : ""}runs match the filters`
    }
  >
    <Button variant="default" renderRoot={(props) => <Link to="/runs" search={{}} {...props} />}>
      Show all runs
    </Button>
  </Empty>
);
