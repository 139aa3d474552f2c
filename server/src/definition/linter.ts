/** Checks what a schema cannot express: one rule for each meaning (`x-value`) in the profile. */
import type { Json } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Steps } from "../fairness/slices.ts";
import { formRule } from "./rules/form-rules.ts";
import type { ExpressionPlace, Found, Lint, Rule, ScriptPlace } from "./rules/lint.ts";
import type { Finding } from "./text/problem.ts";
import { errorTypeRule, expressionRule, fromOrAsRule, instanceRule, templateRule } from "./rules/rules-expressions.ts";
import { referenceRule, tasksRule, thenRule, variableRule } from "./rules/rules-tasks.ts";
import { listedSecrets, secretRule } from "./rules/rules-secrets.ts";
import { durationRule, jitterRule, retryRule, timeoutRule } from "./rules/rules-time.ts";
import { IGNORED_MEANS } from "./schema/schema-words.ts";
import { IGNORED } from "./schema/refusals.ts";
import { callRule, functionsRule } from "./functions.ts";
import { scopeAt } from "./scope.ts";
import { KINDS } from "./tasks/kinds.ts";
import { authorityRule, tokenPathRule, tokenPolicyRule } from "./rules/token-endpoint.ts";

/** Reports at the key, since the key can be left out. */
const ignoredRule =
  (message: string): Rule =>
  ({ path }, lint) =>
    lint.report({ path, at: "key", message, severity: "warning" });

const RULES = new Map<string, Rule>(
  Object.entries({
    authority: authorityRule,
    call: callRule,
    duration: durationRule,
    errorType: errorTypeRule,
    expression: expressionRule,
    form: formRule,
    fromOrAs: fromOrAsRule,
    functions: functionsRule,
    instance: instanceRule,
    jitter: jitterRule,
    retry: retryRule,
    tasks: tasksRule,
    template: templateRule,
    then: thenRule,
    timeout: timeoutRule,
    tokenPath: tokenPathRule,
    tokenPolicy: tokenPolicyRule,
    "use.authentications": referenceRule,
    "use.errors": referenceRule,
    "use.retries": referenceRule,
    "use.secrets": secretRule,
    "use.timeouts": referenceRule,
    variable: variableRule,
    ...Object.fromEntries(Object.entries(IGNORED).map(([why, message]) => [IGNORED_MEANS + why, ignoredRule(message)])),
    ...Object.assign({}, ...Object.values(KINDS).map(({ rules }) => rules)),
  }),
);

/** The default names of variables. */
const UNWRITTEN = Object.values(KINDS).flatMap(({ variables = [] }) => variables.map(({ otherwise }) => otherwise));

export type Linted = { findings: Finding[]; expressions: ExpressionPlace[]; scripts: ScriptPlace[] };

/** Also returns the expressions and scripts of the document, for their own compilers (check-definition.ts). */
export function* lint(root: Json, values: Found[], violated: Finding[]): Steps<Linted> {
  const findings: Finding[] = [];
  const expressions: ExpressionPlace[] = [];
  const scripts: ScriptPlace[] = [];
  const declared = values.filter(({ means }) => means === "variable").map(({ value }) => value as string);
  const waiting: Found[] = [];
  const variables = new Set([...UNWRITTEN, ...declared]);
  const context: Lint = {
    root,
    names: new Map(),
    secrets: listedSecrets(root),
    altersSecrets: 0,
    known: (path) => scopeAt(root, path, variables),
    isSound: (path) => !violated.some((finding) => path.every((part, index) => finding.path[index] === part)),
    report: (finding) => findings.push(finding),
    next: (found) => waiting.push(found),
    isFull: () => findings.length >= LIMITS.definitionProblems,
    expression: (place) => expressions.push(place),
    script: (place) => scripts.push(place),
  };
  for (const value of values) {
    for (let found: Found | undefined = value; found && !context.isFull(); found = waiting.pop()) {
      RULES.get(found.means)?.(found, context);
      yield;
    }
  }
  return { findings, expressions, scripts };
}
