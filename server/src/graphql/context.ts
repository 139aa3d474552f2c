/** What every resolver gets. */
import { requireScope, signedIn, type Caller } from "../auth/caller.ts";
import type { Scope } from "../auth/scopes.ts";
import type { Ending } from "../lib/ending.ts";
import type { AnswerSize } from "./answer-size.ts";
import type { Loaders } from "./loaders.ts";
import type { Handles } from "./rooms.ts";

/** Where a request came from, as far as resolvers need it. */
export type Origin = {
  requestId: string;
  /** The client's, behind trusted proxies already resolved. */
  address: string;
  /** The `Idempotency-Key` header. */
  idempotencyKey?: string | undefined;
};

export type Context = Handles & {
  caller: Caller | undefined;
  origin: Origin;
  loaders: Loaders;
  /** How many fields of this operation asked to `wait`. */
  waits: number;
  /** What the answer has taken so far. */
  size: AnswerSize;
  /** Ends when nobody waits for the answer any more, or has waited for too long. */
  ending: Ending;
};

/** The guard has checked the scope before a resolver runs. */
export const callerOf = ({ caller }: Context): Caller => signedIn(caller);

/** For what lies across from the field that was checked, like the runs of an agent. */
export const callerWith = (context: Context, scope: Scope): Caller => requireScope(callerOf(context), scope);
