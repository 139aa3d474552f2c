/** The one way from an author's text to a `Workflow`: text, schema, linter, with all problems at once. */
import type { Json } from "../lib/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { ExpressionPlace, Found } from "./lint.ts";
import { lint } from "./linter.ts";
import { byPlace, type Finding, type Problem } from "./problem.ts";
import { PROFILE } from "./profile.ts";
import { readText } from "./read-text.ts";
import { SchemaWalk, TooCostly } from "./schema-walk.ts";
import { findingsOf } from "./sentences.ts";
import type { Workflow } from "./workflow.ts";

/** `workflow` only when there is no problem; problems in the order of the text, at most `LIMITS.definitionProblems`. */
export type Parsed = { workflow?: Workflow; problems: Problem[] };

/** All but jq's own look at the expressions (check-definition.ts). Synchronous: for versions that were published before. */
export function parseDefinition(text: string): Parsed {
  const { problems, workflow } = parseWithPlaces(text);
  return workflow && problems.length === 0 ? { workflow, problems } : { problems };
}

export type ParsedWithPlaces = {
  problems: Problem[];
  workflow?: Workflow;
  expressions: ExpressionPlace[];
  place(finding: Finding): Problem;
};

/** Also answers the expressions, and a way to place what is found wrong with them. */
export function parseWithPlaces(text: string): ParsedWithPlaces {
  const { value, problems, place } = readText(text);
  if (value === undefined) return { problems, expressions: [], place };
  const { findings, expressions } = inspect(value);
  return {
    problems: inOrder([...problems, ...findings.map(place)]),
    workflow: value as unknown as Workflow,
    expressions,
    place,
  };
}

function inspect(value: Json): { findings: Finding[]; expressions: ExpressionPlace[] } {
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
  const violated = findingsOf(walk.violations);
  const linted = lint(value, found, violated);
  return { findings: [...violated, ...linted.findings], expressions: linted.expressions };
}

export function inOrder(problems: Problem[]): Problem[] {
  return problems.toSorted(byPlace).slice(0, LIMITS.definitionProblems);
}
