/**
 * Agents and their compiled versions in memory, so that a start costs no query. An agent's row is at most 5 s old, exact
 * after a change in this process (`invalidate` before the change is answered), and forgotten a moment after a change in
 * another. A version never changes, so what is compiled of it is kept until room is needed.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { parseInSlices } from "../definition/parse-definition.ts";
import type { Plan } from "../definition/plan.ts";
import type { Workflow } from "../definition/workflow.ts";
import type { Clock } from "../lib/clock.ts";
import { createFreshCache, type TellChange } from "../lib/fresh-cache.ts";
import type { AgentId, OrganizationId } from "../lib/ids.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Slots } from "../lib/slots.ts";
import type { Database } from "../storage/database.ts";
import type { Agent } from "./agent.ts";
import { readAgentRow, readSource } from "./store.ts";

/** A version made ready to run. `inputSchema` is the same object each time, so that its form is compiled once. */
export type Compiled = {
  version: string;
  source: string;
  workflow: Workflow;
  inputSchema: JsonObject | undefined;
  plan: Plan;
};

export type AgentCache = {
  agent(organizationId: OrganizationId, id: AgentId): Promise<Agent | undefined>;
  /** The agent must be known to be the organization's. */
  compiled(organizationId: OrganizationId, id: AgentId, version: string): Promise<Compiled | undefined>;
  forget(organizationId: OrganizationId, id: AgentId): void;
  /** After a change to the agent's row in this process: forgotten here and in others. */
  invalidate(organizationId: OrganizationId, id: AgentId): void;
};

const ROW_TTL_MS = 5_000;
const ROWS_MOST = 5_000;
/** Of definition text; compiled it takes about ten times as much. */
const SOURCE_CHARACTERS_MOST = 4_000_000;

export type AgentCacheOptions = {
  database: Database;
  clock: Clock;
  reading: Slots;
  compile: (workflow: Workflow) => Plan;
  tell: TellChange;
};

export function createAgentCache({ database, clock, reading, compile, tell }: AgentCacheOptions): AgentCache {
  const rows = createFreshCache<string, Agent>({
    clock,
    ttlMs: ROW_TTL_MS,
    most: ROWS_MOST,
    load: (key) => readAgentRow(database, ...(key.split(" ") as [OrganizationId, AgentId])),
  });
  const versions = createVersions();

  const load = async (organizationId: OrganizationId, id: AgentId, version: string): Promise<Compiled | undefined> => {
    return reading.run(organizationId, async () => {
      const source = await readSource(database.query, organizationId, id, version);
      return source === undefined ? undefined : compileSource(version, source, compile);
    });
  };

  const forget = (organizationId: OrganizationId, id: AgentId): void => rows.forget(`${organizationId} ${id}`);

  return {
    agent: (organizationId, id) => rows.get(`${organizationId} ${id}`),
    compiled: (organizationId, id, version) =>
      versions.get(`${organizationId} ${id} ${version}`, () => load(organizationId, id, version)),
    forget,
    invalidate(organizationId, id) {
      forget(organizationId, id);
      tell("agent", organizationId, id);
    },
  };
}

async function compileSource(
  version: string,
  source: string,
  compile: (workflow: Workflow) => Plan,
): Promise<Compiled> {
  const { workflow, problems } = await parseInSlices(source);
  // It passed when it was published: this program is older, or has become stricter than its promise allows.
  if (!workflow) throw new Error(`a published definition no longer parses: ${problems[0]?.message}`);
  // Of the largest 25 ms more, which are no part of the last slice.
  await nextTurn();
  return { version, source, workflow, inputSchema: workflow.input?.schema?.document, plan: compile(workflow) };
}

type Versions = { get(key: string, load: () => Promise<Compiled | undefined>): Promise<Compiled | undefined> };

/** The ones longest unused go when the texts together are over the limit. Askers of one version share its load. */
function createVersions(): Versions {
  const kept = new Map<string, Compiled>();
  const loading = new Map<string, Promise<Compiled | undefined>>();
  let characters = 0;

  const keep = (key: string, compiled: Compiled | undefined): void => {
    loading.delete(key);
    if (!compiled) return;
    kept.set(key, compiled);
    characters += compiled.source.length;
    for (const [oldest, { source }] of kept) {
      if (characters <= SOURCE_CHARACTERS_MOST || oldest === key) return;
      kept.delete(oldest);
      characters -= source.length;
    }
  };

  return {
    get: (key, load) => {
      const known = kept.get(key);
      if (known) {
        kept.delete(key);
        kept.set(key, known);
        return Promise.resolve(known);
      }
      const underWay = loading.get(key);
      if (underWay) return underWay;
      const promise = load();
      loading.set(key, promise);
      promise.then(
        (compiled) => keep(key, compiled),
        () => loading.delete(key),
      );
      return promise;
    },
  };
}
