/** Errors of an answer that has failed already. */
import { GraphQLError } from "graphql";

/**
 * When an item of a list throws at once, @graphql-tools/executor 2.1 drops the promises of the items before it, and Node ends
 * a process for a rejection that nobody handles: one query did. What it drops has the executor's own class and stands in an
 * answer that was refused; any other rejection ends the process as before. To be disposed of after all that resolvers read from: what
 * they dropped may reject when that is closed.
 */
export function ignoreDroppedErrors(): Disposable {
  const listen = (reason: unknown): void => {
    if (!(reason instanceof GraphQLError)) throw reason;
  };
  process.on("unhandledRejection", listen);
  return { [Symbol.dispose]: () => process.off("unhandledRejection", listen) };
}
