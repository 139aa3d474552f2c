/** The room's handle. Every operation of the room takes it first. */
import type { TellChange } from "../lib/fresh-cache.ts";
import type { Expressions } from "../definition/expressions/expressions.ts";
import type { Plan } from "../definition/plan.ts";
import type { Workflow } from "../definition/workflow.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Database } from "../storage/database.ts";
import { createAgentCache, type AgentCache } from "./agent-cache.ts";

export type Agents = {
  database: Database;
  clock: Clock;
  log: Log;
  /** Whether jq takes an expression, in the organization's turn. */
  check: Expressions["check"];
  cache: AgentCache;
};

export type AgentsOptions = Omit<Agents, "cache"> & { compile: (workflow: Workflow) => Plan; tell?: TellChange };

export const createAgents = ({ compile, tell = () => {}, ...rest }: AgentsOptions): Agents => ({
  ...rest,
  cache: createAgentCache(rest.database, rest.clock, compile, tell),
});
