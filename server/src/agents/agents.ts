/** The room's handle, the first parameter of each of its operations. */
import { checkDefinition, type Checked } from "../definition/check-definition.ts";
import type { AgentId, OrganizationId } from "../lib/ids.ts";
import type { Expressions } from "../definition/expressions/expressions.ts";
import type { Plan } from "../definition/plan.ts";
import type { Workflow } from "../definition/workflow.ts";
import type { Clock } from "../lib/clock.ts";
import { Slots } from "../lib/slots.ts";
import type { Log } from "../lib/log.ts";
import { Hub } from "../realtime/hub.ts";
import { noNotices, type Notices } from "../realtime/notices.ts";
import type { Database } from "../storage/database.ts";
import { createAgentCache, type AgentCache } from "./agent-cache.ts";

export type Agents = {
  database: Database;
  clock: Clock;
  log: Log;
  /** Whether jq accepts an expression, in the organization's turn. */
  check: Expressions["check"];
  /**
   * Definitions being read: one of the largest takes 200 ms of the thread in slices, and ten times its text in memory. So
   * an organization has one at a time, however many it sends or lists.
   */
  reading: Slots;
  cache: AgentCache;
  /** Agents that were made or changed, by organization. */
  changes: Hub<AgentId>;
};

const READ_AT_ONCE = 8;

export type AgentsOptions = Omit<Agents, "cache" | "reading" | "changes"> & {
  compile: (workflow: Workflow) => Plan;
  /** If left out, no other process is told. */
  notices?: Pick<Notices, "send" | "on">;
};

export const createAgents = ({ compile, notices = noNotices, ...rest }: AgentsOptions): Agents => {
  const reading = new Slots(READ_AT_ONCE, 1 / READ_AT_ONCE);
  const changes = new Hub<AgentId>();
  return { ...rest, reading, changes, cache: createAgentCache({ ...rest, reading, changes, compile, notices }) };
};

/** The definition with all its problems, in the organization's turn; `project`: the handle that its namespace must be. */
export const readChecked = (
  agents: Agents,
  organizationId: OrganizationId,
  definition: string,
  project?: string,
): Promise<Checked> =>
  agents.reading.run(organizationId, () =>
    checkDefinition(definition, (text) => agents.check(text, organizationId), project),
  );
