/**
 * Look-ups of one turn of the event loop become one statement: a list of runs asks for its agents once. Nothing is kept
 * between turns, so each event of a subscription sees the present state.
 */
import { readDrafts } from "../agents/drafts.ts";
import { readAgents } from "../agents/list-agents.ts";
import type { Agent } from "../agents/agent.ts";
import { signedIn, type Caller } from "../auth/caller.ts";
import { readProjects } from "../auth/projects.ts";
import type { Project } from "../auth/project.ts";
import { userNames } from "../auth/users.ts";
import { notFound } from "../lib/errors.ts";
import type { AgentId, ProjectId, UserId } from "../lib/ids.ts";
import type { JsonText } from "../lib/json-text.ts";
import { readPayloads, type PayloadKey } from "../runs/read-payloads.ts";
import type { Handles } from "./rooms.ts";

export type Loader<Key, Value> = (key: Key) => Promise<Value>;

export type Loaders = {
  agent: Loader<AgentId, Agent>;
  /** Of an agent; null: none is saved. */
  draft: Loader<AgentId, string | null>;
  project: Loader<ProjectId, Project>;
  /** Of somebody who made something, also when they left. */
  userName: Loader<UserId, string>;
  /** What is too large to come with its row; who asks has charged for it. */
  payload: Loader<PayloadKey, JsonText>;
};

export function createLoaders(
  { agents, auth, runs }: Pick<Handles, "agents" | "auth" | "runs">,
  caller: Caller | undefined,
): Loaders {
  return {
    agent: batched("Agent", (ids) => readAgents(agents, signedIn(caller).organizationId, ids)),
    draft: batched("Agent", (ids) => readDrafts(agents, signedIn(caller).organizationId, ids)),
    project: batched("Project", (ids) => readProjects(auth, signedIn(caller).organizationId, ids)),
    userName: batched("User", (ids) => userNames(auth, signedIn(caller).organizationId, ids)),
    payload: payloads((keys) => readPayloads(runs, signedIn(caller).organizationId, keys)),
  };
}

/** One of the same name is read once, for however many aliases. */
function payloads(read: (keys: PayloadKey[]) => Promise<(JsonText | undefined)[]>): Loader<PayloadKey, JsonText> {
  let asked: Map<string, PayloadKey> | undefined;
  const load = batched<string, JsonText>("Payload", async (names) => {
    const keys = names.map((name) => asked!.get(name)!);
    asked = undefined;
    const texts = await read(keys);
    return new Map(names.flatMap((name, index) => (texts[index] ? [[name, texts[index]] as const] : [])));
  });
  return (key) => {
    const name = Object.values(key).join(" ");
    asked = (asked ?? new Map<string, PayloadKey>()).set(name, key);
    return load(name);
  };
}

/** Throws NOT_FOUND for a key that `load` does not answer. */
function batched<Key, Value>(what: string, load: (keys: Key[]) => Promise<Map<Key, Value>>): Loader<Key, Value> {
  let batch: { keys: Set<Key>; values: Promise<Map<Key, Value>> } | undefined;
  return async (key) => {
    if (!batch) {
      const keys = new Set<Key>();
      const start = async (): Promise<Map<Key, Value>> => {
        await new Promise(setImmediate);
        batch = undefined;
        return load([...keys]);
      };
      batch = { keys, values: start() };
    }
    batch.keys.add(key);
    const value = (await batch.values).get(key);
    if (value === undefined) throw notFound(what);
    return value;
  };
}
