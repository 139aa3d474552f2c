/** One agent: start it, and what it did. */
import { Link, useNavigate } from "@tanstack/react-router";
import { Button, Skeleton } from "@mantine/core";
import { AgentPageDocument, type AgentPageQuery } from "../../api/documents.ts";
import { useRead } from "../../api/hooks.ts";
import { refusalIn, type Refusal } from "../../api/refusal.ts";
import { useMay } from "../../api/use-may.ts";
import { LongText } from "../../components/long-text.tsx";
import { Empty, NoPermission, Problem, TryAgain } from "../../components/notice.tsx";
import { useOnScreen } from "../../components/palette/on-screen.ts";
import { PageHead } from "../../components/page-head.tsx";
import { runsText } from "../../components/runs/cancel-chosen.tsx";
import { RunsTable } from "../../components/runs/runs-table.tsx";
import { StatusMark } from "../../components/status-mark.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { ToCopy } from "../../components/to-copy.tsx";
import { isObject, type Json } from "../../lib/json.ts";
import { useTitle } from "../../lib/use-title.ts";
import { ChangedTools } from "./changed-tools.tsx";
import { activeOf, AgentMenu, useSetStatus } from "./agent-menu.tsx";
import { DefinitionTab } from "./definition-tab.tsx";
import { RunTab, type Earlier } from "./run-tab.tsx";
import { AGENT_TABS, type AgentSearch, type AgentTab } from "./search.ts";
import { TriggersTab } from "./triggers/triggers-tab.tsx";

const WORDS: Record<AgentTab, string> = {
  run: "Run",
  runs: "Runs",
  triggers: "Triggers",
  definition: "Definition",
};

const IN_AGENTS = [{ word: "Agents", to: "/agents" }] as const;

/** Characters, above what one came for. */
const MAX_DESCRIBED = 500;

const searchOf = (tab: AgentTab): AgentSearch => (tab === "run" ? {} : { tab });

export function Agent({ id, search }: { id: string; search: AgentSearch }) {
  const { tab = "run", from, by, text } = search;
  const [{ data, error }, readAgain] = useRead({
    query: AgentPageDocument,
    variables: { id, from: from ?? "", hasFrom: from !== undefined },
    requestPolicy: "cache-and-network",
  });
  const agent = data?.agent;
  useTitle(agent?.name ?? "Agent");
  const { may, role } = useMay();
  const navigate = useNavigate();
  useOnScreen(
    AGENT_TABS.filter((one) => agent && one !== tab).map((one) => ({
      word: one === "run" ? `Run ${agent!.name}` : `${WORDS[one]} of ${agent!.name}`,
      act: () => navigate({ to: "/agents/$agentId", params: { agentId: id }, search: searchOf(one) }),
    })),
  );
  if (!agent || role === null) return error ? <NotShown refusal={refusalIn(error)} onAgain={readAgain} /> : <ToCome />;
  const { name, status } = agent;
  return (
    <div className="stack">
      <Head agent={agent} mayWrite={may("agents:write")} />
      <ChangedTools agentId={id} tools={agent.changedTools} mayWrite={may("agents:write")} />
      <Tabs
        label="Agent"
        chosen={tab}
        tabs={AGENT_TABS.map((one) => ({
          name: one,
          word: WORDS[one],
          link: { to: "/agents/$agentId", params: { agentId: id }, search: searchOf(one) },
        }))}
      >
        {tab === "run" && !may("runs:start") && (
          <NoPermission what="run agents" who="Owners, admins, editors and runners" role={role} />
        )}
        {tab === "run" && may("runs:start") && status !== "active" && (
          <TakesNoRuns agent={agent} mayWrite={may("agents:write")} />
        )}
        {tab === "run" && may("runs:start") && status === "active" && (
          <RunTab agent={agent} earlier={earlierOf(data.from)} isDescribed={by === "words"} said={text} />
        )}
        {tab === "triggers" && (
          <TriggersTab agentId={id} search={search} may={{ write: may("triggers:write"), start: may("runs:start") }} />
        )}
        {tab === "definition" && (
          <DefinitionTab agentId={id} compared={search.compare} mayWrite={may("agents:write")} />
        )}
        {tab === "runs" && (
          <RunsTable
            filter={{ agentId: [id] }}
            hasAgent={false}
            empty={<NoRunsYet name={name} mayRun={may("runs:start") && status === "active"} />}
          />
        )}
      </Tabs>
    </div>
  );
}

type Agent = NonNullable<AgentPageQuery["agent"]>;

const NotShown = ({ refusal, onAgain }: { refusal: Refusal; onAgain: () => void }) => (
  <div className="stack">
    <PageHead path={IN_AGENTS} title="This agent cannot be shown" />
    <Problem
      refusal={refusal}
      action={
        refusal.code === "NOT_FOUND" ? (
          <Link to="/agents" className="link">
            All agents
          </Link>
        ) : (
          <TryAgain onClick={onAgain} />
        )
      }
    />
  </div>
);

const ToCome = () => (
  <div className="stack" role="status" aria-busy="true" aria-label="Loading the agent">
    <Skeleton height={28} width={240} />
    <Skeleton height={240} width={480} />
  </div>
);

function Head({ agent, mayWrite }: { agent: Agent; mayWrite: boolean }) {
  const { name, handle, description, status, version, project, concurrency } = agent;
  return (
    <>
      <PageHead
        path={IN_AGENTS}
        title={name}
        aside={
          <span className="dim">
            {project.handle} / {handle} {version}
          </span>
        }
        mark={<StatusMark status={status} />}
        facts={concurrency !== null && <span>At most {runsText(concurrency)} at the same time</span>}
      >
        {mayWrite && <AgentMenu agent={agent} />}
      </PageHead>
      {description && (
        <p className="dim">
          <LongText text={description} most={MAX_DESCRIBED} />
        </p>
      )}
    </>
  );
}

function TakesNoRuns({ agent, mayWrite }: { agent: Agent; mayWrite: boolean }) {
  const { name, status, project, handle } = agent;
  const { setStatus, isBusy, refusal } = useSetStatus(agent);
  return (
    <Empty title={`The agent is ${status === "draft" ? "a draft" : status}`}>
      <p>It takes no runs. Its earlier runs are kept.</p>
      {mayWrite && status === "draft" && (
        <Button variant="default" renderRoot={(props) => <Link {...props} to="." search={{ tab: "definition" }} />}>
          Publish its definition
        </Button>
      )}
      {mayWrite && status !== "draft" && (
        <>
          {refusal && <Problem refusal={refusal} />}
          <Button variant="default" loading={isBusy} onClick={() => setStatus(activeOf(agent))}>
            {status === "paused" ? `Resume ${name}` : `Bring back ${name}`}
          </Button>
          <p>Resume it from a shell:</p>
          <ToCopy text={`npx autograph agents resume ${project.handle}/${handle}`} label="Copy the command" />
        </>
      )}
    </Empty>
  );
}

const NoRunsYet = ({ name, mayRun }: { name: string; mayRun: boolean }) => (
  <Empty title="No runs here">
    <p>{name} has not run yet.</p>
    {mayRun && (
      <Button variant="default" renderRoot={(props) => <Link {...props} to="." search={{}} />}>
        Run {name}
      </Button>
    )}
  </Empty>
);

function earlierOf(run: { id: string; input: unknown } | null | undefined): Earlier | undefined {
  const input = run?.input as Json | undefined;
  return run && isObject(input) ? { id: run.id, input } : undefined;
}
