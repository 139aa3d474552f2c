/** The input of a transport, and the answer that it gets back. */
import type { Caller } from "../../auth/caller.ts";
import type { Ending } from "../../lib/ending.ts";
import type { Code } from "../../lib/errors.ts";
import type { Standing } from "../../rates/rates.ts";
import type { AnswerSize } from "../context/answer-size.ts";
import type { Origin, WatchCredential } from "../context/context.ts";
import type { Operation } from "../documents/documents.ts";
import type { ShownError } from "../documents/errors.ts";

/** Who sent a request: known before anyone has looked at what it asks for. */
export type Asking = {
  /** Asked when the operation looks at credentials. Throws UNAUTHENTICATED for a bad one. */
  caller: () => Caller | undefined | Promise<Caller | undefined>;
  /** Told where the caller stands when the request counts against a limit. */
  counted?: ((standing: Standing) => void) | undefined;
};

export type GraphqlRequest = Asking & {
  query: string;
  operationName: string | undefined;
  variables: Record<string, unknown>;
  origin: Origin;
  /** Whether the transport can answer a subscription. */
  canStream: boolean;
  /** The transport ends it when nobody waits for the answer any longer, and graphql.ts when it takes too long. */
  ending: Ending;
  /** The server is overloaded: only what is urgent may begin. */
  urgentOnly?: boolean;
  /** Called when nothing of the request is held or running any longer: after the answer if nobody waited for it. */
  release?: (() => void) | undefined;
  /** Left out where the connection ends with the credential anyway. */
  watch?: WatchCredential | undefined;
};

/** `json`: instead of the others, if it is written already. */
export type Result = { data?: unknown; errors?: ShownError[]; json?: string };
export type Answer =
  /** `size` is disposed of when the reader has the answer. `waited`: for the end of a run. */
  | { kind: "result"; operation: Operation; size: AnswerSize; result: Result; waited?: boolean }
  /** Nothing was executed. */
  | { kind: "refused"; code: Code; result: Result; cause?: unknown }
  /** An event holds `size` until the next one is asked for. */
  | {
      kind: "stream";
      operation: Operation;
      size: AnswerSize;
      caller: Caller | undefined;
      results: AsyncGenerator<Result, void, void>;
    };

export type Refused = Answer & { kind: "refused" };
