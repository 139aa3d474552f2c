/** The arguments of every method: the rooms' handles, and who calls with what. */
import type { Agents } from "../agents/agents.ts";
import { requireScope, type Acting } from "../auth/caller.ts";
import type { Scope } from "../auth/scopes.ts";
import type { Ending } from "../lib/ending.ts";
import type { Runs } from "../runs/handle/runs.ts";
import type { Capabilities } from "./protocol.ts";

export type Mcp = { agents: Agents; runs: Runs };

/** One request. */
export type Call = {
  caller: Acting;
  /** It is of the stateless revision. */
  isStateless: boolean;
  capabilities: Capabilities;
  /** The header of this name, which a key in `_meta` replaces. */
  idempotencyKey: string | undefined;
  /** When it ends, nobody waits for the answer any longer. */
  ending: Ending;
  /** Called before so many bytes are read for the answer. Throws QUERY_TOO_COMPLEX or UNAVAILABLE. */
  charge(bytes: number): void;
  /** Takes a place among the requests that wait, until it is disposed. Throws UNAVAILABLE. */
  beginWait(): Disposable;
  /** Tells the client how far the run is, from 0 to 100; undefined if it did not ask. */
  tellProgress: ((percent: number, message: string | undefined) => void) | undefined;
};

export const hasScope = ({ caller }: Call, scope: Scope): boolean => caller.scopes.has(scope);

/** Throws FORBIDDEN, naming the scope. */
export const needScope = ({ caller }: Call, scope: Scope): void => void requireScope(caller, scope);
