/** The counts of operations, over any transport. */
import { CODES, type Code } from "../../lib/errors.ts";
import { countsOf, eachOf, Histogram, type Counts } from "../../lib/figures.ts";

/** `wait`: it waited for a run to end. `refused`: as a whole, before it was executed. A subscription, until it is open. */
const TYPES = ["query", "mutation", "wait", "subscription", "refused"] as const;
type Type = (typeof TYPES)[number];

export type GraphqlFigures = {
  seconds: Record<Type, Histogram>;
  /** Answers with at least one error. */
  withErrors: Counts<Type>;
  /** Errors shown, by their code. */
  refusals: Counts<Code>;
  /** How many are open. */
  subscriptions: number;
};

export const createGraphqlFigures = (): GraphqlFigures => ({
  seconds: eachOf(TYPES, Histogram.ofSeconds),
  withErrors: countsOf(TYPES),
  refusals: countsOf(CODES),
  subscriptions: 0,
});

type Answer = { result?: { errors?: unknown } } & (
  | { kind: "refused" }
  | { kind: "result"; operation: { type: Type }; waited?: boolean }
  | { kind: "stream"; operation: { type: Type } }
);

/** Returns the answer. `begunAt` is a time of `performance.now()`. */
export function countAnswer<Given extends Answer>(figures: GraphqlFigures, answer: Given, begunAt: number): Given {
  const type = typeOf(answer);
  figures.seconds[type].since(begunAt);
  if (answer.result?.errors) figures.withErrors[type]++;
  return answer;
}

function typeOf(answer: Answer): Type {
  if (answer.kind === "refused") return "refused";
  return answer.kind === "result" && answer.waited ? "wait" : answer.operation.type;
}
