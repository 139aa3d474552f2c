/** The GraphQL API over any transport: answers requests, one at a time or as a stream, and ends those that take too long. */
import type { GraphQLSchema } from "graphql";
import { every } from "../lib/clock.ts";
import type { Ending } from "../lib/ending.ts";
import { Refusal } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import { UnderWay } from "../lib/under-way.ts";
import { FairShare } from "../fairness/fair-share.ts";
import { Roll } from "../lib/roll.ts";
import { running } from "../lib/running.ts";
import { Lasting } from "./context/lasting.ts";
import type { Handles } from "./context/rooms.ts";
import { createDocuments } from "./documents/documents.ts";
import { createErrorMask, type ErrorMask } from "./documents/errors.ts";
import { countAnswer, createGraphqlFigures, type GraphqlFigures } from "./documents/graphql-figures.ts";
import { countInvalid } from "./requests/count-invalid.ts";
import type { Answer, Asking, GraphqlRequest, Refused } from "./requests/request.ts";
import { runOperation, type Running } from "./requests/run-operation.ts";
import { createSchema } from "./schema.ts";

export type Graphql = {
  schema: GraphQLSchema;
  /** Subscriptions and waits, over other routes too. */
  lasting: Lasting;
  /** Counts work that must end before what it uses is closed. */
  working: UnderWay;
  /** Answers everything that is unanswered with `reason`. */
  endAll(reason: Refusal): void;
  figures: GraphqlFigures & { readonly answersBudget: FairShare };
  /** Never throws. */
  answer(request: GraphqlRequest): Promise<Answer>;
  /**
   * Work for a request of another route: rejects when the request ends, or takes longer than a query may. `release`: called when
   * nothing of it runs any longer.
   */
  inTime<Done>(ending: Ending, work: Promise<Done>, release?: () => void): Promise<Done>;
  /** A transport's refusal of a request. It counts like any other, so it may become RATE_LIMITED. Never throws. */
  refuse(error: unknown, asking: Asking, requestId: string): Promise<Refused>;
} & Disposable;

type GraphqlOptions = { handles: Handles; isUnavailable: (error: unknown) => boolean };

/** How often requests that take too long are looked for. */
const LOOK_EVERY_MS = 1_000;

export function createGraphql({ handles, isUnavailable }: GraphqlOptions): Graphql {
  const { clock, log, rates } = handles;
  const schema = createSchema();
  const figures = createGraphqlFigures();
  const mask = counted(createErrorMask(log, isUnavailable), figures);
  const budget = new FairShare(LIMITS.answersBytes);
  const lasting = new Lasting();
  const working = new UnderWay();
  const documents = createDocuments(schema);
  const underWay = new Roll<Ending>();
  const timed: Timed = { handles, schema, documents, mask, figures, budget, lasting, working, underWay };
  const looking = every(clock, LOOK_EVERY_MS, () => {
    const now = clock.now();
    for (const ending of underWay) if (ending.endsAt <= now) ending.end(tookTooLong());
  });

  return {
    schema,
    lasting,
    working,
    endAll: (reason) => {
      for (const ending of underWay) ending.end(reason);
    },
    figures: Object.assign(figures, { answersBudget: budget }),
    inTime: (ending, work, release) =>
      new Promise((resolve, reject) => {
        begin(timed, ending, reject);
        const over = (): void => {
          underWay.delete(ending);
          working.end();
          release?.();
        };
        work.finally(over).then(resolve, reject);
      }),
    refuse: async (error, asking, requestId) => {
      const begunAt = performance.now();
      return countAnswer(figures, refused(mask, await countInvalid(rates, error, asking), requestId), begunAt);
    },
    answer: async (request) => {
      const begunAt = performance.now();
      const { query, operationName, origin } = request;
      const what = running.getStore();
      try {
        if (!what) {
          const own = { requestId: origin.requestId, query, operationName };
          return countAnswer(figures, await running.run(own, runInTime, timed, request), begunAt);
        }
        // The edge has opened a frame for this request; a second one would copy it.
        what.query = query;
        what.operationName = operationName;
        return countAnswer(figures, await runInTime(timed, request), begunAt);
      } catch (error) {
        return countAnswer(figures, refused(mask, error, origin.requestId), begunAt);
      }
    },
    [Symbol.dispose]: () => {
      looking[Symbol.dispose]();
    },
  };
}

/** `underWay`: the requests that have no answer yet. */
type Timed = Running & { underWay: Roll<Ending> };

/** `reject`: called when the request ends, which it does by itself in time. */
function begin({ handles, underWay, working }: Timed, ending: Ending, reject: (reason: Error) => void): void {
  ending.endsAt = handles.clock.now() + LIMITS.requestSeconds * 1_000;
  underWay.add(ending);
  working.begin();
  ending.onEnd(reject);
}

/** Rejects when the request ends first. Its resolvers notice before they read on, and then it is released. */
const runInTime = (timed: Timed, request: GraphqlRequest): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { underWay, working } = timed;
    const { ending, release } = request;
    begin(timed, ending, reject);
    runOperation(timed, request).then(
      (answer) => {
        underWay.delete(ending);
        // A stream ends when its source has.
        if (answer.kind !== "stream") working.end();
        if (answer.kind !== "stream") release?.();
        else if (release) ending.onEnd(release);
        return resolve(answer);
      },
      (error: unknown) => {
        underWay.delete(ending);
        working.end();
        release?.();
        reject(error);
      },
    );
  });

function refused(mask: ErrorMask, error: unknown, requestId: string): Refused {
  const errors = mask.show(error, requestId);
  return { kind: "refused", code: errors[0]!.extensions.code, result: { errors }, cause: error };
}

const counted = ({ show }: ErrorMask, { refusals }: GraphqlFigures): ErrorMask => ({
  show: (error, requestId) => {
    const errors = show(error, requestId);
    for (const { extensions } of errors) refusals[extensions.code]++;
    return errors;
  },
});

const tookTooLong = (): Refusal =>
  new Refusal(
    "UNAVAILABLE",
    `the request took more than ${LIMITS.requestSeconds} s: it was stopped, but its changes may have been made`,
    { retryAfter: 1 },
  );
