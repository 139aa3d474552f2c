/** The only way from an author's text to a `Workflow`: reads it, checks it by the profile and the linter, reports all problems at once. */
import type { Json } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { ExpressionPlace, Found, ScriptPlace } from "./rules/lint.ts";
import { lint, type Linted } from "./linter.ts";
import { atOnce, inSlices, type Steps } from "../fairness/slices.ts";
import { byPlace, type Finding, type Problem } from "./text/problem.ts";
import { PROFILE } from "./profile/profile.ts";
import { readingText } from "./text/read-text.ts";
import { SchemaWalk, TooCostly } from "./schema/schema-walk.ts";
import { findingsOf } from "./profile/sentences.ts";
import type { Workflow } from "./profile/workflow.ts";

/** `workflow` only when there is no problem; problems in the order of the text, at most `LIMITS.definitionProblems`. */
export type Parsed = { workflow?: Workflow; problems: Problem[] };

/** Everything except jq's own check of the expressions (check-definition.ts). Synchronous: for published versions. */
export const parseDefinition = (text: string): Parsed => atOnce(parsing(text));

/** The same for callers that can wait: the largest definition takes 200 ms of the thread. */
export const parseInSlices = (text: string): Promise<Parsed> => inSlices(parsing(text));

function* parsing(text: string): Steps<Parsed> {
  const { problems, workflow } = yield* parseWithPlaces(text);
  return workflow && problems.length === 0 ? { workflow, problems } : { problems };
}

export type ParsedWithPlaces = {
  problems: Problem[];
  warnings: Finding[];
  workflow?: Workflow;
  /** The schema of the profile has found nothing wrong with it. */
  isSound: boolean;
  expressions: ExpressionPlace[];
  scripts: ScriptPlace[];
  place(finding: Finding): Problem;
};

/** Also returns the expressions and scripts, and a function that finds the place of a problem in the text. */
export function* parseWithPlaces(text: string): Steps<ParsedWithPlaces> {
  const { value, problems, place } = yield* readingText(text);
  if (value === undefined) return { problems, warnings: [], isSound: false, expressions: [], scripts: [], place };
  yield;
  const { findings, isSound, expressions, scripts } = yield* inspect(value);
  yield;
  const [warnings, errors] = bySeverity(findings);
  return {
    problems: sortProblems([...problems, ...errors.map(place)]),
    warnings,
    workflow: value as unknown as Workflow,
    isSound,
    expressions,
    scripts,
    place,
  };
}

/** The warnings, and the errors. */
export const bySeverity = (findings: readonly Finding[]): [Finding[], Finding[]] => [
  findings.filter(({ severity }) => severity === "warning"),
  findings.filter(({ severity }) => severity !== "warning"),
];

/** Checks a value that was read from a text. */
export function* inspect(value: Json): Steps<Linted & { isSound: boolean }> {
  const found: Found[] = [];
  const walk = new SchemaWalk(PROFILE, {
    visit: (path, inner, means) => found.push({ path, value: inner, means }),
  });
  try {
    walk.check(value);
  } catch (error) {
    if (!(error instanceof TooCostly)) throw error;
    return {
      findings: [
        { path: [], at: "value", message: `the definition is too large to be checked in ${LIMITS.schemaSteps} steps` },
      ],
      isSound: false,
      expressions: [],
      scripts: [],
    };
  }
  yield;
  const violated = findingsOf(walk.violations);
  yield;
  const linted = yield* lint(value, found, violated);
  const isSound = violated.length === 0;
  return { ...linted, findings: [...violated, ...linted.findings], isSound };
}

export function sortProblems(problems: Problem[]): Problem[] {
  return problems.toSorted(byPlace).slice(0, LIMITS.definitionProblems);
}
