/** The inputs that a definition writes for agents that it starts by `run: workflow`, and that their forms refuse. */
import { checkInput } from "../definition/form/check-input.ts";
import type { Workflow } from "../definition/profile/workflow.ts";
import { tasksIn } from "../definition/tasks-in.ts";
import { valueAt, type Finding, type Path } from "../definition/text/problem.ts";
import { expressionIn } from "../expressions/template.ts";
import { isObject, isScalar, type Json, type JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Within } from "../lib/reach.ts";
import type { Agents } from "./agents.ts";
import { findAgent } from "./find-agent.ts";
import { childOf, type NamedAgent } from "./missing-agents.ts";
import { published } from "./published.ts";

type Form = { version: string; schema: JsonObject | undefined };

/** A field with an expression in it has any value until the run is there. Agents that the caller does not reach are not looked at. */
export async function refusedInputs(agents: Agents, within: Within, workflow: Workflow): Promise<Finding[]> {
  const forms = new Map<string, Promise<Form | undefined>>();
  const findings: Finding[] = [];
  for (const { kind, task, path } of tasksIn(workflow)) {
    const child = kind === "run" ? childOf(task, path) : undefined;
    const input = child && valueAt(task, ["run", "workflow", "input"]);
    if (!child || !isObject(input)) continue;
    const key = `${child.project}/${child.handle} ${child.version}`;
    if (!forms.has(key) && forms.size === LIMITS.childForms) continue;
    const reading = forms.get(key) ?? formOf(agents, within, workflow, child);
    forms.set(key, reading);
    const form = await reading;
    if (form) findings.push(...refusedFields(input, form, child));
    if (findings.length >= LIMITS.definitionProblems) break;
  }
  return findings;
}

async function formOf(
  agents: Agents,
  within: Within,
  { document, input }: Workflow,
  { project, handle, version }: NamedAgent,
): Promise<Form | undefined> {
  const isItself = project === document.namespace && handle === document.name;
  if (isItself && (version ?? document.version) === document.version)
    return { version: document.version, schema: input?.schema?.document };
  const agent = await findAgent(agents, within, project, handle);
  const found = agent && (await published(agents, within, agent.id, version));
  return found && { version: found.version, schema: found.inputSchema };
}

function refusedFields(input: JsonObject, { version, schema }: Form, { path, project, handle }: NamedAgent): Finding[] {
  const names = Object.keys(input);
  const isOpen = new Set(names.filter((name) => hasExpression(input[name]!)));
  const { problems = [] } = checkInput(schema, input);
  const whose = `the form of ${project}/${handle} ${version}`;
  return problems.flatMap(({ path: place, code, message }): Finding[] => {
    const field = place.slice("input.".length);
    if (code === "required")
      return [{ path: [...path, "input"], at: "value", message: `${field} is missing, which ${whose} requires` }];
    const name = names.find((one) => field === one || (/^[.[]/.test(field.slice(one.length)) && field.startsWith(one)));
    if (name === undefined || (isOpen.has(name) && code !== "unknown")) return [];
    const at: Path = [...path, "input", name];
    return [{ path: at, at: code === "unknown" ? "key" : "value", message: `${whose} refuses this: ${message}` }];
  });
}

function hasExpression(value: Json): boolean {
  if (typeof value === "string") return expressionIn(value) !== undefined;
  return !isScalar(value) && Object.values(value).some(hasExpression);
}
