/** Triggers that a definition brings, as `document.metadata.triggers`: a list of `{name, trigger: {type, …}, policy, status}`. */
import type { Agents } from "../agents/agents.ts";
import { nameProblem, tidyName } from "../auth/names.ts";
import type { Others } from "../definition/check-definition.ts";
import { enumerate, valueAt, type Finding, type Path } from "../definition/text/problem.ts";
import type { Workflow } from "../definition/profile/workflow.ts";
import type { FieldProblem } from "../lib/errors.ts";
import type { ProjectId } from "../lib/ids.ts";
import { isObject, type Json, type JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Within } from "../lib/reach.ts";
import type { TriggerStatus } from "../storage/schema.ts";
import { problemsFor } from "./check-trigger.ts";
import { configured, TRIGGER_TYPES, type GivenAt, type TriggerType } from "./kinds/kinds.ts";

/** `status`: what it begins with; afterwards `setTriggerStatus` says. */
export type DefinedTrigger = {
  name: string;
  type: TriggerType;
  configuration: JsonObject;
  policy: JsonObject;
  status: TriggerStatus;
};

const AT: Path = ["document", "metadata", "triggers"];
const KEYS = ["name", "trigger", "policy", "status"];

/** The problems of these triggers, with their places. */
export function checkDefined(workflow: Workflow): Others {
  const { triggers, findings } = readDefined(workflow);
  const expressions = triggers.flatMap(({ policy }, index) =>
    typeof policy["mapping"] === "string"
      ? [{ path: [...AT, index, "policy", "mapping"], text: policy["mapping"] }]
      : [],
  );
  // Places count only where each trigger could be read.
  return { findings, expressions: findings.length === 0 ? expressions : [] };
}

/** The triggers of a definition that was checked. */
export const definedTriggers = (workflow: Workflow): DefinedTrigger[] => readDefined(workflow).triggers;

/** Their problems in the project, which `checkDefined` does not know, with their places. Throws UNAVAILABLE. */
export async function checkDefinedIn(
  agents: Pick<Agents, "database" | "clock" | "check">,
  { organizationId }: Within,
  projectId: ProjectId,
  workflow: Workflow,
): Promise<Finding[]> {
  const agent = { organizationId, projectId, form: workflow.input?.schema?.document, isPublished: true };
  const found: Finding[] = [];
  for (const [index, trigger] of definedTriggers(workflow).entries())
    for (const problem of await problemsFor(agents, trigger, agent, DEFINED_AT))
      found.push(findingOf(workflow, index, problem));
  return found;
}

const DEFINED_AT: GivenAt = { keys: "trigger", policy: "policy" };

/** The finding for a problem of the trigger at this place of the list. */
const findingOf = (workflow: Workflow, index: number, { path, message }: FieldProblem): Finding => ({
  path: existing(workflow, [...AT, index, ...path.split(".").filter(Boolean)]),
  at: "value",
  message: `${path === "" ? "this" : path} ${message}`,
});

type Read = { triggers: DefinedTrigger[]; findings: Finding[] };

function readDefined(workflow: Workflow): Read {
  const list = (workflow.document.metadata?.["triggers"] ?? []) as Json;
  const read: Read = { triggers: [], findings: [] };
  const say = (path: Path, message: string): void => {
    read.findings.push({ path: existing(workflow, [...AT, ...path]), at: "value", message });
  };
  if (!Array.isArray(list)) say([], "write a list of triggers, each with name, trigger and policy");
  else if (list.length > LIMITS.triggersPerAgent) say([], `an agent has at most ${LIMITS.triggersPerAgent} triggers`);
  else
    for (const [index, item] of list.entries()) {
      const problems: FieldProblem[] = [];
      const trigger = readOne(item, problems);
      read.findings.push(...problems.map((problem) => findingOf(workflow, index, problem)));
      if (!trigger) continue;
      if (read.triggers.some(({ name }) => name === trigger.name))
        say([index, "name"], "there is another trigger with this name");
      read.triggers.push(trigger);
    }
  return read;
}

/** As much of a path as the document has: what is missing is said where it should be. */
function existing(root: Json, path: Path): Path {
  let length = path.length;
  while (length > 0 && valueAt(root, path.slice(0, length)) === undefined) length--;
  return path.slice(0, length);
}

function readOne(item: Json, problems: FieldProblem[]): DefinedTrigger | undefined {
  const add = (path: string, code: FieldProblem["code"], message: string): undefined =>
    void problems.push({ path, code, message });
  if (!isObject(item)) return add("", "wrong_type", "must be an object with name, trigger and policy");
  for (const key of Object.keys(item))
    if (!KEYS.includes(key)) add(key, "unknown", "is not known: a trigger has name, trigger, policy and status");
  const { name, trigger, policy = {}, status = "active" } = item;
  if (typeof name !== "string") return add("name", "required", "must be text");
  const wrongName = nameProblem(name, "name");
  if (wrongName) problems.push(wrongName);
  if (!isObject(trigger)) return add("trigger", "required", "must be an object with type, and the keys of that type");
  if (!isObject(policy)) return add("policy", "wrong_type", "must be an object");
  if (status !== "active" && status !== "paused") return add("status", "not_a_choice", "must be active or paused");
  const { type, ...keys } = trigger;
  if (!TRIGGER_TYPES.some((known) => known === type))
    return add("trigger.type", "not_a_choice", `must be ${enumerate(TRIGGER_TYPES, "or")}`);
  const known = type as TriggerType;
  const made = configured({ type: known, keys, policy }, DEFINED_AT, problems);
  return { name: tidyName(name), type: known, status, ...made };
}
