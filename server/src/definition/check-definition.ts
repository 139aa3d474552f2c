/** Checks a definition for publishing and validating: parse-definition.ts, the names of the data (flow/), and every expression compiled by jq. */
import { shortened } from "../lib/errors.ts";
import type { Json } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { inSlices, type Steps } from "../fairness/slices.ts";
import { checkFlow } from "./flow/flow.ts";
import { longNumbersIn } from "./rules/long-numbers.ts";
import type { ExpressionPlace } from "./rules/lint.ts";
import { bySeverity, parseWithPlaces, sortProblems, type Parsed } from "./parse-definition.ts";
import { valueAt, type Finding, type Problem } from "./text/problem.ts";
import { doesNotCompile } from "./rules/rules-expressions.ts";
import type { Workflow } from "./profile/workflow.ts";

/** `Expressions.check`: undefined when the text compiles. */
export type ExpressionCheck = (text: string) => Promise<{ message: string; offset: number } | undefined>;

/** A definition with `warnings` can still be published. */
export type Checked = Parsed & { warnings: Problem[] };

/** Problems that another room finds, and expressions there that jq must compile. */
export type Others = { findings: Finding[]; expressions: ExpressionPlace[] };

/** `project`: the handle that the namespace must equal. `others`: further problems of a definition that fits the profile. */
export async function checkDefinition(
  text: string,
  check: ExpressionCheck,
  { project, others }: { project?: string | undefined; others?: (workflow: Workflow) => Others } = {},
): Promise<Checked> {
  const { problems, warnings: linted, workflow, isSound, expressions, place } = await inSlices(parseWithPlaces(text));
  const long = workflow && isSound ? await inSlices(longNumbersIn(workflow as unknown as Json)) : [];
  const flow = workflow && isSound ? await inSlices(checkFlow(workflow)) : [];
  const other = workflow && isSound ? others?.(workflow) : undefined;
  const [warnings, errors] = bySeverity([...linted, ...flow, ...long, ...(other?.findings ?? [])]);
  const more = [
    ...(await uncompiledOf([...expressions, ...(other?.expressions ?? [])], check)),
    ...elsewhere(workflow, project),
    ...errors,
  ];
  const all = sortProblems([...problems, ...more.map(place)]);
  const said = { warnings: sortProblems(warnings.map(place)) };
  return workflow && all.length === 0 ? { workflow, problems: [], ...said } : { problems: all, ...said };
}

/** `workflow` may be any JSON. The profile reports a namespace that is no text. */
function elsewhere(workflow: Workflow | undefined, project: string | undefined): Finding[] {
  const path = ["document", "namespace"];
  const namespace = valueAt(workflow as unknown as Json, path);
  if (project === undefined || typeof namespace !== "string" || namespace === project) return [];
  return [{ path, at: "value", message: notOfProject(namespace, project) }];
}

/** The message about a definition whose namespace is not the given project. */
export const notOfProject = (namespace: string, project: string): string =>
  `the definition's namespace is ${shortened(namespace)}, the project's handle is ${project}: they must be the same; \`{ projects { nodes { id handle } } }\` lists the projects`;

async function uncompiledOf(expressions: ExpressionPlace[], check: ExpressionCheck): Promise<Finding[]> {
  const texts = [...new Set(expressions.map(({ text }) => text))];
  const extra = expressions.find(({ text }) => text === texts[LIMITS.definitionExpressions]);
  if (extra)
    return [
      {
        path: extra.path,
        at: "value",
        message: `a definition may have ${LIMITS.definitionExpressions} expressions; this is one too many`,
      },
    ];
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  if (characters > LIMITS.definitionExpressionCharacters) {
    const message = `a definition may have ${LIMITS.definitionExpressionCharacters} characters of expressions, and this one has ${characters}; move a part of them to another agent`;
    return [{ path: [], at: "value", message }];
  }
  const answers = await inSlices(checking(texts, check));
  return expressions.flatMap(({ path, text }) => {
    const answer = answers.get(text);
    return answer ? [{ path, at: "value" as const, message: doesNotCompile(answer.message) }] : [];
  });
}

/** Starts a check per text; the promise waits for all of them. */
function* checking(
  texts: string[],
  check: ExpressionCheck,
): Steps<Promise<Map<string, Awaited<ReturnType<ExpressionCheck>>>>> {
  const asked: ReturnType<ExpressionCheck>[] = [];
  for (const text of texts) {
    const answer = check(text);
    // Awaited below with the others: until then a failure must not end the process.
    answer.catch(() => {});
    asked.push(answer);
    yield;
  }
  return Promise.all(asked).then((answers) => new Map(answers.map((answer, at) => [texts[at]!, answer])));
}
