/** What a schema cannot say about a definition: one rule for each meaning (`x-value`) that the profile gives to a value. */
import type { Json } from "../lib/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Steps } from "../lib/slices.ts";
import { approvalFormRule, formRule } from "./form-rules.ts";
import type { ExpressionPlace, Found, Lint, Rule } from "./lint.ts";
import type { Finding } from "./problem.ts";
import {
  endpointRule,
  errorTypeRule,
  expressionRule,
  fromOrAsRule,
  headersRule,
  instanceRule,
  queryRule,
  setRule,
  templateRule,
} from "./rules-expressions.ts";
import { casesRule, referenceRule, tasksRule, thenRule, variableRule } from "./rules-tasks.ts";
import { durationRule, jitterRule, retryRule, timeoutRule } from "./rules-time.ts";

const RULES = new Map<string, Rule>(
  Object.entries({
    approvalForm: approvalFormRule,
    cases: casesRule,
    duration: durationRule,
    endpoint: endpointRule,
    errorType: errorTypeRule,
    expression: expressionRule,
    form: formRule,
    fromOrAs: fromOrAsRule,
    headers: headersRule,
    instance: instanceRule,
    jitter: jitterRule,
    query: queryRule,
    retry: retryRule,
    set: setRule,
    tasks: tasksRule,
    template: templateRule,
    then: thenRule,
    timeout: timeoutRule,
    "use.authentications": referenceRule,
    "use.errors": referenceRule,
    "use.retries": referenceRule,
    "use.timeouts": referenceRule,
    variable: variableRule,
  }),
);

/** Answers the expressions of the document, for jq's own compiler (check-definition.ts). */
export function* lint(
  root: Json,
  values: Found[],
  violated: Finding[],
): Steps<{ findings: Finding[]; expressions: ExpressionPlace[] }> {
  const findings: Finding[] = [];
  const expressions: ExpressionPlace[] = [];
  const declared = values.filter(({ means }) => means === "variable").map(({ value }) => value as string);
  const waiting: Found[] = [];
  const context: Lint = {
    root,
    names: new Map(),
    variables: new Set(["item", "index", "error", ...declared]),
    isSound: (path) => !violated.some((finding) => path.every((part, index) => finding.path[index] === part)),
    report: (finding) => findings.push(finding),
    next: (found) => waiting.push(found),
    isFull: () => findings.length >= LIMITS.definitionProblems,
    expression: (place) => expressions.push(place),
  };
  for (const value of values) {
    for (let found: Found | undefined = value; found && !context.isFull(); found = waiting.pop()) {
      RULES.get(found.means)?.(found, context);
      yield;
    }
  }
  return { findings, expressions };
}
