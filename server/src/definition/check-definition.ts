/** Checks a definition for publishing and validating: parse-definition.ts, the names of the data (flow/), every expression compiled by jq, and every script. */
import { shortened } from "../lib/errors.ts";
import type { Json } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { inSlices, type Steps } from "../fairness/slices.ts";
import { checkFlow } from "./flow/flow.ts";
import { longNumbersIn } from "./rules/long-numbers.ts";
import type { ExpressionPlace, ScriptPlace } from "./rules/lint.ts";
import { bySeverity, parseWithPlaces, sortProblems, type Parsed } from "./parse-definition.ts";
import { valueAt, type Finding, type Problem } from "./text/problem.ts";
import { doesNotCompile } from "./rules/rules-expressions.ts";
import type { Workflow } from "./profile/workflow.ts";

/** `Expressions.check`: undefined when the text compiles. */
export type ExpressionCheck = (text: string) => Promise<{ message: string; offset: number } | undefined>;

/** `Scripts.check`: undefined when the code compiles. `line` and `column` count from 1. */
export type ScriptCheck = (
  script: Pick<ScriptPlace, "code" | "names">,
) => Promise<{ message: string; line?: number; column?: number } | undefined>;

/** A definition with `warnings` can still be published. */
export type Checked = Parsed & { warnings: Problem[] };

/** Problems that another room finds, and expressions there that jq must compile. */
export type Others = { findings: Finding[]; expressions: ExpressionPlace[] };

type Further = {
  /** The handle that the namespace must equal. */
  project?: string | undefined;
  /** If left out, scripts are not compiled. */
  checkScript?: ScriptCheck;
  /** Further problems of a definition that fits the profile. */
  others?: (workflow: Workflow) => Others;
};

export async function checkDefinition(
  text: string,
  check: ExpressionCheck,
  { project, checkScript = async () => undefined, others }: Further = {},
): Promise<Checked> {
  const { expressions, scripts, place, ...parsed } = await inSlices(parseWithPlaces(text));
  const { problems, warnings: linted, workflow, isSound } = parsed;
  const long = workflow && isSound ? await inSlices(longNumbersIn(workflow as unknown as Json)) : [];
  const flow = workflow && isSound ? await inSlices(checkFlow(workflow)) : [];
  const other = workflow && isSound ? others?.(workflow) : undefined;
  const [warnings, errors] = bySeverity([...linted, ...flow, ...long, ...(other?.findings ?? [])]);
  const more = [
    ...(await uncompiledOf([...expressions, ...(other?.expressions ?? [])], check)),
    ...(await uncompiledScripts(scripts, checkScript)),
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

async function uncompiledScripts(scripts: ScriptPlace[], check: ScriptCheck): Promise<Finding[]> {
  const found: Finding[] = [];
  const known = new Map<string, Awaited<ReturnType<ScriptCheck>>>();
  for (const { path, code, names } of scripts) {
    const key = JSON.stringify([code, names]);
    if (!known.has(key)) {
      if (known.size === LIMITS.scriptsPerDefinition)
        return [...found, { path, at: "value", message: TOO_MANY_SCRIPTS }];
      // One after the other: the threads are there for the runs of all, too.
      known.set(key, await check({ code, names }));
    }
    const problem = known.get(key);
    if (!problem) continue;
    const { message, line, column } = problem;
    const where = line === undefined ? "" : ` (line ${line}, column ${column} of the code)`;
    found.push({ path, at: "value", message: `the script does not compile: ${message}${where}` });
  }
  return found;
}

const TOO_MANY_SCRIPTS = `a definition may have ${LIMITS.scriptsPerDefinition} different scripts; this is one too many`;
