/** The context that every resolver gets. */
import { requireCaller, type Acting, type Caller } from "../../auth/caller.ts";
import type { LoginFrom } from "../../auth/sessions/login.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Ending } from "../../lib/ending.ts";
import type { AnswerSize } from "./answer-size.ts";
import type { Lasting } from "./lasting.ts";
import type { Loaders } from "./loaders.ts";
import type { Handles } from "./rooms.ts";
import type { Repeated } from "./repeated.ts";

/** The facts that resolvers need about where a request came from. */
export type Origin = {
  requestId: string;
  /** The client's own address, also behind trusted proxies. */
  address: string;
  /** The `User-Agent` header, of a WebSocket that of its upgrade; cut. */
  userAgent?: string | undefined;
  /** The `Idempotency-Key` header. */
  idempotencyKey?: string | undefined;
};

/** Calls `end` once when the credential has expired or was revoked. */
export type WatchCredential = (caller: Caller, end: () => void) => Disposable;

export type Context = Handles & {
  caller: Caller | undefined;
  origin: Origin;
  loaders: Loaders;
  /** How many fields of this operation asked to `wait`. */
  waits: number;
  /** All subscriptions and waits. */
  lasting: Lasting;
  /** The object that the present event of a subscription is about, where one that says the same again is not sent. */
  about?: string;
  /** The events of a subscription, where many of them are alike. */
  repeated?: Repeated<unknown>;
  /** The bytes of the answer so far. */
  size: AnswerSize;
  /** For what answers late. Undefined where the connection ends with the credential anyway. */
  watch: WatchCredential | undefined;
  /** Ends when nobody waits for the answer any longer, or somebody has waited too long. */
  ending: Ending;
};

/** The operation's needs are checked before any resolver runs. */
export const callerOf = ({ caller }: Context): Caller => requireCaller(caller);

/** Until it is disposed of: who loses the credential waits no longer, and is told what comes of what they asked for. */
export const endWithCredential = (context: Context, rest: string): Disposable | undefined =>
  context.watch?.(callerOf(context), () =>
    context.ending.end(
      new Refusal("UNAUTHENTICATED", `the credential has expired or was revoked during the wait: ${rest}`),
    ),
  );

/** Where a session is opened from, or a password tried. */
export const loginFrom = ({ origin: { address, userAgent } }: Context): LoginFrom => ({
  address,
  userAgent,
  client: "api",
});

/** For what the audit tells of. */
export const actingOf = (context: Context): Acting => {
  const { address, userAgent } = context.origin;
  return { ...callerOf(context), from: { address, userAgent } };
};
