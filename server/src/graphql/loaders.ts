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
import type { AgentId, OrganizationId, ProjectId, UserId } from "../lib/ids.ts";
import type { JsonText } from "../lib/json-text.ts";
import { readPayloads, type PayloadKey } from "../runs/read-payloads.ts";
import type { Handles } from "./rooms.ts";

export type Loader<Key, Value> = (key: Key) => Promise<Value>;
type Rooms = Pick<Handles, "agents" | "auth" | "runs">;

/** Each is made when it is asked for: most requests need none. */
export class Loaders {
  readonly #rooms: Rooms;
  readonly #caller: Caller | undefined;
  #agent: Loader<AgentId, Agent> | undefined;
  #draft: Loader<AgentId, string | null> | undefined;
  #project: Loader<ProjectId, Project> | undefined;
  #userName: Loader<UserId, string> | undefined;
  #payload: Loader<PayloadKey, JsonText> | undefined;

  constructor(rooms: Rooms, caller: Caller | undefined) {
    this.#rooms = rooms;
    this.#caller = caller;
  }

  get #organizationId(): OrganizationId {
    return signedIn(this.#caller).organizationId;
  }

  get agent(): Loader<AgentId, Agent> {
    return (this.#agent ??= batched("Agent", (ids) => readAgents(this.#rooms.agents, this.#organizationId, ids)));
  }

  /** Of an agent; null: none is saved. */
  get draft(): Loader<AgentId, string | null> {
    return (this.#draft ??= batched("Agent", (ids) => readDrafts(this.#rooms.agents, this.#organizationId, ids)));
  }

  get project(): Loader<ProjectId, Project> {
    return (this.#project ??= batched("Project", (ids) => readProjects(this.#rooms.auth, this.#organizationId, ids)));
  }

  /** Of somebody who made something, also when they left. */
  get userName(): Loader<UserId, string> {
    return (this.#userName ??= batched("User", (ids) => userNames(this.#rooms.auth, this.#organizationId, ids)));
  }

  /** What is too large to come with its row; who asks has charged for it. */
  get payload(): Loader<PayloadKey, JsonText> {
    return (this.#payload ??= payloads((keys) => readPayloads(this.#rooms.runs, this.#organizationId, keys)));
  }
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
