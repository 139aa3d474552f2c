/** The answers to graphql-ws's questions: who connects, and what answers an operation. */
import { GraphQLError, type ExecutionArgs, type ExecutionResult } from "graphql";
import { makeServer, type Server } from "graphql-ws";
import type { Answer, Result } from "../../../graphql/requests/request.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { clientGone } from "../../connections/connections.ts";
import type { Extra, WebSocketParts } from "./connection.ts";
import { admitConnection, answerOperation, endOperation } from "./operations.ts";

/** graphql-ws passes this on to `execute` and `subscribe`; by then the answer is made. */
type Answered = ExecutionArgs & { answer: Exclude<Answer, { kind: "refused" }> };

/** Its errors have their final form already, and `onNext` sends them as they are. */
type Formatted = Result & ExecutionResult;

export function createProtocol(parts: WebSocketParts): Server<Extra> {
  const { graphql } = parts;
  const shownErrors = new WeakMap<readonly GraphQLError[], Result["errors"]>();
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
        return { schema: graphql.schema, document, operationName: name ?? null, contextValue: {}, answer } as Answered;
      }
      endOperation(parts, connection, id);
      const errors = answer.result.errors!.map(({ message }) => new GraphQLError(message));
      shownErrors.set(errors, answer.result.errors);
      return errors;
    },
    onComplete: (connection, id) => endOperation(parts, connection, id),
    onError: (_connection, _id, _payload, errors) => shownErrors.get(errors),
    onNext: ({ extra }, _id, _payload, args, result) =>
      extra.outgoing.hold(result as unknown as Result, (args as Answered).answer.size),
    execute: (args) => ((args as Answered).answer as Answer & { kind: "result" }).result as Formatted,
    subscribe: (args) => {
      const { answer } = args as Answered;
      return (answer.kind === "stream" ? answer.results : answer.result) as Formatted;
    },
  });
}
