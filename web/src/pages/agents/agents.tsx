/** All agents by name, a line each: what starts them, how their last runs went, and Run. */
import { useEffect, useRef } from "react";
import { Link, useNavigate } from "@tanstack/react-router";
import { Button, TextInput } from "@mantine/core";
import { useQuery } from "urql";
import {
  AgentsChangedDocument,
  AgentsDocument,
  AgentsRunsDocument,
  FrameDocument,
  type AgentFilter,
  type AgentStatus,
} from "../../api/documents.ts";
import { useLive } from "../../api/hooks.ts";
import { useMay } from "../../api/use-may.ts";
import { Choice } from "../../components/choice.tsx";
import { Empty } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { List } from "../../components/table/list.tsx";
import { useFresh } from "../../components/table/use-fresh.ts";
import { useListKeys } from "../../components/table/use-list-keys.ts";
import { OF_A_PAGE, usePages } from "../../components/table/use-pages.ts";
import { WithKey } from "../../components/with-key.tsx";
import { ToCopy } from "../../components/to-copy.tsx";
import { useLater } from "../../lib/use-later.ts";
import { AgentRow, COLUMNS } from "./agent-row.tsx";
import classes from "./agents.module.css";
import { FirstVisit } from "./first-visit.tsx";

export type AgentsSearch = { project?: string | undefined; status?: AgentStatus; text?: string };

export const AGENT_STATUSES: readonly AgentStatus[] = ["active", "draft", "paused", "archived"];
const ASKED_AFTER_MS = 150;
const ROW_PX = 36;
/** All but archived ones, unless they are asked for. */
const SHOWN: AgentStatus[] = ["active", "draft", "paused"];

export function Agents({ search }: { search: AgentsSearch }) {
  const { project, status } = search;
  // Not each letter is asked for.
  const text = useLater(search.text ?? "", ASKED_AFTER_MS);
  const filter: AgentFilter = {
    status: status ? [status] : SHOWN,
    ...(project && { projectId: [project] }),
    ...(text && { text }),
  };
  const { may } = useMay();
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current && box.current !== document.activeElement) box.current.value = search.text ?? "";
  }, [search.text]);
  return (
    <div className="stack">
      <PageHead title="Agents">
        {may("agents:write") && (
          <Button component={Link} to="/agents/new" variant="default" size="compact-md">
            New agent
          </Button>
        )}
        {may("runs:start") && (
          <Button component={Link} to="/describe" variant="default" size="compact-md">
            Describe a run
          </Button>
        )}
      </PageHead>
      <Filters search={search} box={box} />
      <FilteredAgents
        key={JSON.stringify(filter)}
        filter={filter}
        isFiltered={Boolean(status) || text !== ""}
        isOfProject={project !== undefined}
        onFilter={() => box.current?.focus()}
      />
    </div>
  );
}

function Filters({ search, box }: { search: AgentsSearch; box: React.RefObject<HTMLInputElement | null> }) {
  const navigate = useNavigate();
  const set = (change: { [Key in keyof AgentsSearch]: AgentsSearch[Key] | undefined }): void => {
    const next = Object.entries({ ...search, ...change }).filter(([, value]) => value);
    void navigate({ to: "/agents", search: Object.fromEntries(next) as AgentsSearch, replace: true });
  };
  return (
    <search className={classes["filters"]}>
      <TextInput
        ref={box}
        type="search"
        aria-label="Name or handle"
        placeholder="Name or handle"
        defaultValue={search.text ?? ""}
        maxLength={200}
        onChange={(event) => set({ text: event.currentTarget.value })}
      />
      <Choice
        label="Status"
        none="All but archived"
        value={search.status}
        options={AGENT_STATUSES.map((value) => ({ value, label: value }))}
        onChange={(status) => set({ status })}
      />
    </search>
  );
}

type FilteredProps = { filter: AgentFilter; isFiltered: boolean; isOfProject: boolean; onFilter: () => void };

function FilteredAgents({ filter, isFiltered, isOfProject, onFilter }: FilteredProps) {
  const pages = usePages({
    name: `agents ${JSON.stringify(filter)}`,
    rowPx: ROW_PX,
    query: AgentsDocument,
    variablesOf: (page) => ({ filter, ...page }),
    connectionOf: ({ agentsConnection }) => agentsConnection,
  });
  const fresh = useFresh();
  const scope = { projectId: (filter.projectId as string[] | undefined)?.[0] ?? null };
  const { items, table, isWhole } = pages;
  useLive(AgentsChangedDocument, scope, {
    onMissed: pages.readAgain,
    onData: ({ agentsChanged: { id } }) => {
      if (items.some((agent) => agent.id === id) || !(isWhole || items.length > 0)) return;
      // The one that was waited for stands there at once; where there are others, nothing moves.
      if (items.length === 0) pages.readAgain({ fromStart: true });
      else if (!isFiltered) fresh.add(id);
    },
  });
  useLive(AgentsRunsDocument, scope, { onMissed: pages.readAgain });
  useListKeys({ list: table, onFilter });
  const showFresh = (): void => {
    fresh.clear();
    pages.readAgain({ fromStart: true });
    scrollTo({ top: 0 });
  };
  const { may } = useMay();
  const mayRun = may("runs:start");
  const [{ data: frame }] = useQuery({ query: FrameDocument });
  const hasProjects = !isOfProject && (frame?.projects?.nodes.length ?? 0) > 1;
  return (
    <div className={classes["list"]}>
      {isWhole && !isFiltered && !isOfProject && <FirstVisit agents={items} />}
      <List
        // Another one once the first have come: what stands above it then may push it down, which is no jump of what was read.
        key={isWhole || items.length > 0 ? "read" : "to come"}
        what="the agents"
        pages={pages}
        columns={COLUMNS}
        className={classes["table"]}
        fresh={{ count: fresh.count, onShow: showFresh }}
        empty={isFiltered ? <NothingFits /> : <NoAgents isOfProject={isOfProject} mayWrite={may("agents:write")} />}
        renderRow={(agent) => <AgentRow key={agent.id} agent={agent} hasProjects={hasProjects} mayRun={mayRun} />}
        toCome={TO_COME}
        below={
          isWhole &&
          items.length > OF_A_PAGE && <p className={classes["end"]}>{items.length.toLocaleString()} agents</p>
        }
      />
    </div>
  );
}

/** So many lines stand there until the first have come, and until more have. */
const TO_COME = { first: 6, more: 4 };

const NothingFits = () => (
  <Empty title="No matching agents">
    <Button component={Link} to="/agents" variant="default">
      Show all agents
    </Button>
  </Empty>
);

/** For an organization that has nothing: the agents of the demo are the first one's alone. */
const FIRST = `npx autograph projects create demo
npx autograph publish examples/agents/expense-approval.yaml`;

const NoAgents = ({ isOfProject, mayWrite }: { isOfProject: boolean; mayWrite: boolean }) => (
  <Empty title={isOfProject ? "No agents in this project yet" : "No agents yet"}>
    <p>An agent is a document that says what to do, step by step.</p>
    {mayWrite && (
      <Button component={Link} to="/agents/new">
        Write {isOfProject ? "one" : "the first one"} here
      </Button>
    )}
    {!isOfProject && (
      <>
        <p>
          Or publish a file from a shell, in Autograph’s folder, with <WithKey />:
        </p>
        <ToCopy text={FIRST} label="Copy the commands" />
      </>
    )}
  </Empty>
);
