/** Keeps what a query has shown when it is read again and that fails: urql's hooks would show nothing in its place. */
import { mapExchange, type Exchange } from "@urql/core";
import { refusalIn } from "./refusal.ts";

/** Codes that say nothing about what was asked for. After any other it may not be shown any longer, or is not there. */
const SAY_NOTHING: ReadonlySet<string> = new Set([
  "UNAVAILABLE",
  "UNREACHABLE",
  "UNAUTHENTICATED",
  "RATE_LIMITED",
  "INTERNAL_SERVER_ERROR",
]);

/** It belongs before the cache, whose answers count, too. */
export const createKeepShown = (): Exchange => {
  const shown = new Map<number, unknown>();
  return mapExchange({
    onOperation: ({ kind, key }) => {
      if (kind === "teardown") shown.delete(key);
    },
    onResult: (result) => {
      const { operation, data, error } = result;
      if (operation.kind !== "query") return result;
      if (!error) shown.set(operation.key, data);
      else if (!SAY_NOTHING.has(refusalIn(error).code)) shown.delete(operation.key);
      return error && shown.has(operation.key) ? { ...result, data: shown.get(operation.key) } : result;
    },
  });
};
