/** The room's handle. Every operation of the room takes it first. */
import type { TellChange } from "../lib/fresh-cache.ts";
import { checkDefinition } from "../definition/check-definition.ts";
import type { Parsed } from "../definition/parse-definition.ts";
import type { OrganizationId } from "../lib/ids.ts";
import type { Expressions } from "../definition/expressions/expressions.ts";
import type { Plan } from "../definition/plan.ts";
import type { Workflow } from "../definition/workflow.ts";
import type { Clock } from "../lib/clock.ts";
import { Slots } from "../lib/slots.ts";
import type { Log } from "../lib/log.ts";
import type { Database } from "../storage/database.ts";
import { createAgentCache, type AgentCache } from "./agent-cache.ts";

export type Agents = {
  database: Database;
  clock: Clock;
  log: Log;
  /** Whether jq takes an expression, in the organization's turn. */
  check: Expressions["check"];
  /**
   * Definitions that are read: one of the largest takes 200 ms of the thread in slices, and ten times its text meanwhile.
   * So an organization has one at a time, however many it sends or lists.
   */
  reading: Slots;
  cache: AgentCache;
};

const READ_AT_ONCE = 8;

export type AgentsOptions = Omit<Agents, "cache" | "reading"> & {
  compile: (workflow: Workflow) => Plan;
  tell?: TellChange;
};

export const createAgents = ({ compile, tell = () => {}, ...rest }: AgentsOptions): Agents => {
  const reading = new Slots(READ_AT_ONCE, 1 / READ_AT_ONCE);
  return { ...rest, reading, cache: createAgentCache({ ...rest, reading, compile, tell }) };
};

/** The definition with all that is wrong with it, in the organization's turn. */
export const readChecked = (agents: Agents, organizationId: OrganizationId, definition: string): Promise<Parsed> =>
  agents.reading.run(organizationId, () => checkDefinition(definition, (text) => agents.check(text, organizationId)));
