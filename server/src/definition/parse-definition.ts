/** The one way from an author's text to a `Workflow`: text, schema, linter, with all problems at once. */
import type { Json } from "../lib/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { ExpressionPlace, Found } from "./lint.ts";
import { lint } from "./linter.ts";
import { atOnce, inSlices, type Steps } from "../lib/slices.ts";
import { byPlace, type Finding, type Problem } from "./problem.ts";
import { PROFILE } from "./profile.ts";
import { readingText } from "./read-text.ts";
import { SchemaWalk, TooCostly } from "./schema-walk.ts";
import { findingsOf } from "./sentences.ts";
import type { Workflow } from "./workflow.ts";

/** `workflow` only when there is no problem; problems in the order of the text, at most `LIMITS.definitionProblems`. */
export type Parsed = { workflow?: Workflow; problems: Problem[] };

/** All but jq's own look at the expressions (check-definition.ts). Synchronous: for versions that were published before. */
export const parseDefinition = (text: string): Parsed => atOnce(parsing(text));

/** The same, for whoever can wait: a definition of the largest size takes 200 ms of the thread. */
export const parseInSlices = (text: string): Promise<Parsed> => inSlices(parsing(text));

function* parsing(text: string): Steps<Parsed> {
  const { problems, workflow } = yield* parseWithPlaces(text);
  return workflow && problems.length === 0 ? { workflow, problems } : { problems };
}

export type ParsedWithPlaces = {
  problems: Problem[];
  workflow?: Workflow;
  expressions: ExpressionPlace[];
  place(finding: Finding): Problem;
};

/** Also answers the expressions, and a way to place what is found wrong with them. */
export function* parseWithPlaces(text: string): Steps<ParsedWithPlaces> {
  const { value, problems, place } = yield* readingText(text);
  if (value === undefined) return { problems, expressions: [], place };
  yield;
  const { findings, expressions } = yield* inspect(value);
  yield;
  return {
    problems: inOrder([...problems, ...findings.map(place)]),
    workflow: value as unknown as Workflow,
    expressions,
    place,
  };
}

function* inspect(value: Json): Steps<{ findings: Finding[]; expressions: ExpressionPlace[] }> {
  const found: Found[] = [];
  const walk = new SchemaWalk(PROFILE, {
    visit: (path, inner, means) => found.push({ path, value: inner, means }),
  });
  try {
    walk.check(value);
  } catch (error) {
    if (!(error instanceof TooCostly)) throw error;
    return {
      findings: [{ path: [], at: "value", message: "the definition is too large to be checked" }],
      expressions: [],
    };
  }
  yield;
  const violated = findingsOf(walk.violations);
  yield;
  const linted = yield* lint(value, found, violated);
  return { findings: [...violated, ...linted.findings], expressions: linted.expressions };
}

export function inOrder(problems: Problem[]): Problem[] {
  return problems.toSorted(byPlace).slice(0, LIMITS.definitionProblems);
}
