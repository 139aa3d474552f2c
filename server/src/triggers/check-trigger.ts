/**
 * Checks a trigger against its agent and project, once its own keys and policy are valid. `createTrigger`, `updateTrigger` and the
 * definitions that bring triggers all check here.
 */
import { Refusal, type FieldProblem } from "../lib/errors.ts";
import type { Agents } from "../agents/agents.ts";
import { published } from "../agents/published.ts";
import type { AgentId, OrganizationId, ProjectId } from "../lib/ids.ts";
import type { JsonObject } from "../lib/json/json.ts";
import type { Within } from "../lib/reach.ts";
import { checkStartInput } from "../runs/prepare-run.ts";
import { knownNames } from "../secrets/store.ts";
import { kindOf, type GivenAt } from "./kinds/kinds.ts";
import { doesNotCompile } from "./kinds/contract/mapping.ts";
import type { Trigger } from "./store/trigger.ts";
import { signatureOf } from "./kinds/webhook/signature.ts";

/** The input of the checks. */
type Asked = Pick<Agents, "database" | "clock" | "check">;
type Checked = Pick<Trigger, "type" | "configuration" | "policy">;
/** `form`: of the agent's input; undefined if it has none, or is not published yet. */
type For = {
  organizationId: OrganizationId;
  projectId: ProjectId;
  form: JsonObject | undefined;
  isPublished: boolean;
};

/** The agent as it is published now. */
export async function agentFor(
  agents: Agents,
  within: Within,
  { id, projectId }: { id: AgentId; projectId: ProjectId },
): Promise<For> {
  const version = await published(agents, within, id);
  const { organizationId } = within;
  return { organizationId, projectId, form: version?.inputSchema, isPublished: version !== undefined };
}

/**
 * Finds a schedule's input that the form refuses, a signature whose secret the project does not have, and a mapping that jq
 * does not compile. Throws UNAVAILABLE.
 */
export async function problemsFor(asked: Asked, trigger: Checked, agent: For, at: GivenAt): Promise<FieldProblem[]> {
  const found = await Promise.all([
    mappingProblems(asked, trigger, agent, at),
    secretProblems(asked, trigger, agent, at),
  ]);
  return [...inputProblems(asked, trigger, agent, at), ...found.flat()];
}

/** Checks an input that the configuration has whole, such as a schedule's, against the form. Finds nothing without a published version. */
function inputProblems({ clock }: Asked, { type, configuration }: Checked, agent: For, at: GivenAt): FieldProblem[] {
  const { schedule, inputOf, dropsUnknown } = kindOf(type);
  if (!schedule || !agent.isPublished) return [];
  const path = `${at.keys}.input`;
  try {
    const input = inputOf(configuration, undefined, clock.now());
    checkStartInput({ inputSchema: agent.form }, input, { path, unknown: dropsUnknown ? "drop" : "refuse" });
    return [];
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { code, message, details } = error;
    if (code !== "BAD_USER_INPUT") throw error;
    if (!details.fields?.length) return [{ path, code: "invalid", message }];
    // Like the others, a sentence that begins with the field.
    return details.fields.map((one) =>
      one.code === "unknown" ? { ...one, message: `is not known: ${one.message}` } : one,
    );
  }
}

async function mappingProblems(
  { check }: Asked,
  { policy: { mapping } }: Checked,
  { organizationId }: For,
  at: GivenAt,
): Promise<FieldProblem[]> {
  if (mapping === undefined) return [];
  const problem = await check(mapping as string, organizationId);
  if (!problem) return [];
  return [{ path: `${at.policy}.mapping`, code: "invalid", message: doesNotCompile(problem.message) }];
}

async function secretProblems(
  { database }: Asked,
  { policy }: Checked,
  { organizationId, projectId }: For,
  at: GivenAt,
): Promise<FieldProblem[]> {
  const signature = signatureOf(policy);
  if (!signature) return [];
  const { secret } = signature;
  if ((await knownNames(database, organizationId, projectId, [secret])).has(secret)) return [];
  const message = "must be the name of a secret that the project has: set it first";
  return [{ path: `${at.policy}.signature.secret`, code: "unknown", message }];
}
