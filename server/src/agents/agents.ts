/** The room's handle, the first parameter of each of its operations. */
import type { Acting } from "../auth/caller.ts";
import { checkDefinition, type Checked, type Others } from "../definition/check-definition.ts";
import type { AgentId, OrganizationId, ProjectId } from "../lib/ids.ts";
import type { Expressions } from "../expressions/expressions.ts";
import type { Program } from "../definition/program.ts";
import type { Finding } from "../definition/text/problem.ts";
import type { Workflow } from "../definition/profile/workflow.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log/log.ts";
import type { AllowedCommand } from "../lib/mcp/allowed-commands.ts";
import type { Within } from "../lib/reach.ts";
import type { Scripts } from "../scripts/scripts.ts";
import { Hub } from "../realtime/hub.ts";
import { noNotices, type Notices } from "../realtime/notices.ts";
import type { Database, Query } from "../storage/database.ts";
import type { Agent } from "./agent.ts";
import { createAgentCache, type AgentCache } from "./agent-cache.ts";
import { Reading } from "./reading.ts";

export type Agents = {
  database: Database;
  clock: Clock;
  log: Log;
  /** Whether jq accepts an expression, in the organization's turn. */
  check: Expressions["check"];
  /** Why a script does not compile. */
  checkScript: Scripts["check"];
  reading: Reading;
  cache: AgentCache;
  /** The triggers that definitions declare. */
  triggers: DefinedTriggers;
  /** The names of a project's model connections, and of the server's own. */
  modelConnections(organizationId: OrganizationId, projectId: ProjectId): Promise<ReadonlySet<string>>;
  /** The commands that definitions may start as MCP servers. */
  mcpCommands: readonly AllowedCommand[];
  /** Agents that were made or changed, by organization. */
  changes: Hub<AgentId>;
};

/** The triggers of definitions, handed in by the room of triggers, which imports this one. */
export type DefinedTriggers = {
  /** The problems of a definition's triggers. */
  check(workflow: Workflow): Others;
  /** Finds what is wrong with the definition's triggers in the project. */
  checkIn(
    agents: Pick<Agents, "database" | "clock" | "check">,
    within: Within,
    projectId: ProjectId,
    workflow: Workflow,
  ): Promise<Finding[]>;
  /** Within the transaction that publishes it. `detail`: for the audit; `tell`: to be called after the commit. */
  publish(
    query: Query,
    caller: Acting,
    agent: Agent,
    workflow: Workflow,
  ): Promise<{ detail: Record<string, number> | undefined; tell: () => void }>;
};

const NO_TRIGGERS: DefinedTriggers = {
  check: () => ({ findings: [], expressions: [] }),
  checkIn: async () => [],
  publish: async () => ({ detail: undefined, tell: () => {} }),
};

export type AgentsOptions = Omit<
  Agents,
  "cache" | "reading" | "changes" | "triggers" | "modelConnections" | "mcpCommands" | "checkScript"
> & {
  /** If left out, scripts are not compiled. */
  checkScript?: Agents["checkScript"];
  /** If left out, there are none. */
  modelConnections?: Agents["modelConnections"];
  mcpCommands?: Agents["mcpCommands"];
  triggers?: DefinedTriggers;
  compile: (workflow: Workflow) => Program;
  /** If left out, no other process is told. */
  notices?: Pick<Notices, "send" | "on">;
};

export const createAgents = ({
  compile,
  notices = noNotices,
  triggers = NO_TRIGGERS,
  modelConnections = async () => new Set(),
  mcpCommands = [],
  checkScript = async () => undefined,
  ...rest
}: AgentsOptions): Agents => {
  const reading = new Reading();
  const changes = new Hub<AgentId>();
  return {
    ...rest,
    triggers,
    checkScript,
    modelConnections,
    mcpCommands,
    reading,
    changes,
    cache: createAgentCache({ ...rest, reading, changes, compile, notices }),
  };
};

/**
 * The definition with all its problems, in the organization's turn; `project`: the handle that its namespace must be; `signal`: nobody
 * waits for them any longer.
 */
export const readChecked = (
  agents: Agents,
  organizationId: OrganizationId,
  definition: string,
  { project, signal }: { project?: string | undefined; signal?: AbortSignal | undefined } = {},
): Promise<Checked> =>
  agents.reading.run(
    organizationId,
    () =>
      checkDefinition(definition, (text) => agents.check(text, organizationId), {
        project,
        checkScript: (script) => agents.checkScript(script, organizationId),
        others: agents.triggers.check,
      }),
    signal,
  );
