/** The answers to graphql-ws's questions: who connects, and what answers an operation. */
import { GraphQLError, type ExecutionArgs } from "graphql";
import { makeServer, type Server } from "graphql-ws";
import type { ShownError } from "../../../graphql/documents/errors.ts";
import type { Answer, Result } from "../../../graphql/requests/request.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { clientGone } from "../../connections/connections.ts";
import type { Extra, WebSocketParts } from "./connection.ts";
import { admitConnection, answerOperation, endOperation } from "./operations.ts";
import type { Outgoing } from "./outgoing.ts";

/** graphql-ws passes this on to `execute` and `subscribe`; by then the answer is made. `results` are sent as it asks for them. */
type Answered = ExecutionArgs & { results: Sending };
type Sending = AsyncIterableIterator<never, void, void>;

export function createProtocol(parts: WebSocketParts): Server<Extra> {
  const { graphql } = parts;
  const shownErrors = new WeakMap<readonly GraphQLError[], ShownError[]>();
  const resultsOf = (args: ExecutionArgs): Sending => (args as Answered).results;
  return makeServer<Record<string, unknown>, Extra>({
    connectionInitWaitTimeout: LIMITS.connectionInitSeconds * 1_000,
    onConnect: (connection) => admitConnection(parts, connection),
    onClose: (connection) => {
      const { watched, operations } = connection.extra;
      watched?.[Symbol.dispose]();
      for (const id of operations.keys()) endOperation(parts, connection, id, clientGone());
    },
    onSubscribe: async (connection, id, payload) => {
      const answer = await answerOperation(parts, connection, id, payload);
      if (answer.kind !== "refused") {
        const { document, name } = answer.operation;
        const results = sendAll(connection.extra.outgoing, id, answer);
        return { schema: graphql.schema, document, operationName: name ?? null, contextValue: {}, results } as Answered;
      }
      endOperation(parts, connection, id);
      const errors = answer.result.errors!.map(({ message }) => new GraphQLError(message));
      shownErrors.set(errors, answer.result.errors!);
      return errors;
    },
    onComplete: (connection, id) => endOperation(parts, connection, id),
    onError: (_connection, _id, _payload, errors) => shownErrors.get(errors),
    execute: resultsOf,
    subscribe: resultsOf,
  });
}

/**
 * Sends results whenever the next one is asked for, and yields none: graphql-ws would make JSON of each once more. No generator: it would
 * end only after the result that it waits for.
 */
function sendAll(outgoing: Outgoing, id: string, answer: Exclude<Answer, { kind: "refused" }>): Sending {
  const results: AsyncIterator<Result, void, void> = answer.kind === "stream" ? answer.results : onlyOne(answer.result);
  const idAsJson = JSON.stringify(id);
  return {
    async next() {
      for (;;) {
        const { done, value } = await results.next();
        if (done) return OVER;
        await outgoing.sendNext(idAsJson, value, answer.size);
      }
    },
    async return() {
      await results.return?.();
      return OVER;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

const OVER = { done: true, value: undefined } as const;

async function* onlyOne(result: Result): AsyncGenerator<Result, void, void> {
  yield result;
}
