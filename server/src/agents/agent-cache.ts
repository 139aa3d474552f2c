/**
 * Agents and their compiled versions in memory, so that a start costs no query. An agent's row is at most 5 s old, exact
 * after a change in this process (`invalidate` before answering), and dropped a moment after a change in another. A
 * version never changes, so its compiled form stays until room is needed.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { parseInSlices } from "../definition/parse-definition.ts";
import type { Program } from "../definition/program.ts";
import type { Workflow } from "../definition/profile/workflow.ts";
import type { Clock } from "../lib/clock.ts";
import { FairCache } from "../fairness/fair-cache.ts";
import { createFreshCache } from "../lib/fresh-cache.ts";
import type { AgentId, OrganizationId } from "../lib/ids.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { allOf } from "../lib/reach.ts";
import type { Hub } from "../realtime/hub.ts";
import type { Notices } from "../realtime/notices.ts";
import type { Database } from "../storage/database.ts";
import type { Agent } from "./agent.ts";
import type { Reading } from "./reading.ts";
import { readAgentRow } from "./store.ts";
import { readSource } from "./version-store.ts";

/** A compiled version. `inputSchema` is the same object each time, so that its form is compiled once. */
export type Compiled = {
  version: string;
  source: string;
  workflow: Workflow;
  inputSchema: JsonObject | undefined;
  program: Program;
};

export type AgentCache = {
  /** Ids by what names the agent for ever (find-agent.ts). */
  names: FairCache<AgentId>;
  /** Reads for the server itself: what a caller reads is read by `readAgent`. */
  agent(organizationId: OrganizationId, id: AgentId): Promise<Agent | undefined>;
  /** The caller must know that the agent belongs to the organization and is reached. */
  compiled(organizationId: OrganizationId, id: AgentId, version: string): Promise<Compiled | undefined>;
  forget(organizationId: OrganizationId, id: AgentId): void;
  /** After a change to the agent's row in this process: drops it here and in others, and tells those who watch. */
  invalidate(organizationId: OrganizationId, id: AgentId): void;
};

const ROW_TTL_MS = 5_000;
const ROWS_MOST = 5_000;
/** Each takes about 200 bytes. */
const NAMES_MOST = 10_000;
/** Characters of definition text; compiled it takes about ten times as much. */
const SOURCE_CHARACTERS_MOST = 4_000_000;

type AgentCacheOptions = {
  database: Database;
  clock: Clock;
  reading: Reading;
  compile: (workflow: Workflow) => Program;
  changes: Hub<AgentId>;
  notices: Pick<Notices, "send" | "on">;
};

export function createAgentCache({
  database,
  clock,
  reading,
  compile,
  changes,
  notices,
}: AgentCacheOptions): AgentCache {
  const rows = createFreshCache<string, Agent>({
    clock,
    ttlMs: ROW_TTL_MS,
    most: ROWS_MOST,
    load: (key) => {
      const [organizationId, id] = key.split(" ") as [OrganizationId, AgentId];
      return readAgentRow(database, allOf(organizationId), id);
    },
  });
  const versions = createVersions();

  const load = async (organizationId: OrganizationId, id: AgentId, version: string): Promise<Compiled | undefined> => {
    return reading.run(organizationId, async () => {
      const source = await readSource(database.query, organizationId, id, version);
      return source === undefined ? undefined : compileSource(version, source, compile);
    });
  };

  const forget = (organizationId: OrganizationId, id: AgentId): void => rows.forget(`${organizationId} ${id}`);
  const changed = (organizationId: OrganizationId, id: AgentId): void => {
    forget(organizationId, id);
    changes.publish(organizationId, id);
  };
  notices.on("agent", changed);

  return {
    names: new FairCache(NAMES_MOST),
    agent: (organizationId, id) => rows.get(`${organizationId} ${id}`),
    compiled: (organizationId, id, version) =>
      versions.get(organizationId, `${id} ${version}`, () => load(organizationId, id, version)),
    forget,
    invalidate(organizationId, id) {
      changed(organizationId, id);
      notices.send({ kind: "agent", organizationId, id });
    },
  };
}

async function compileSource(
  version: string,
  source: string,
  compile: (workflow: Workflow) => Program,
): Promise<Compiled> {
  const { workflow, problems } = await parseInSlices(source);
  // It was valid when published: this program is older, or stricter than it promised to be.
  if (!workflow) throw new Error(`a published definition no longer parses: ${problems[0]?.message}`);
  // For the largest 25 ms more, outside the last slice.
  await nextTurn();
  return { version, source, workflow, inputSchema: workflow.input?.schema?.document, program: compile(workflow) };
}

type Load = () => Promise<Compiled | undefined>;
type Versions = { get(organizationId: OrganizationId, key: string, load: Load): Promise<Compiled | undefined> };

/** All texts together have a limit, beyond which an organization displaces its own. Concurrent requests for a version share its load. */
function createVersions(): Versions {
  const kept = new FairCache<Compiled>(SOURCE_CHARACTERS_MOST, ({ source }) => source.length || 1);
  const loading = new Map<string, Promise<Compiled | undefined>>();

  return {
    get: (organizationId, key, load) => {
      const known = kept.get(organizationId, key);
      if (known) return Promise.resolve(known);
      const place = `${organizationId} ${key}`;
      const underWay = loading.get(place);
      if (underWay) return underWay;
      const keep = async (): Promise<Compiled | undefined> => {
        try {
          const compiled = await load();
          if (compiled) kept.set(organizationId, key, compiled);
          return compiled;
        } finally {
          loading.delete(place);
        }
      };
      const promise = keep();
      loading.set(place, promise);
      return promise;
    },
  };
}
