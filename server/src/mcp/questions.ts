/** Open approvals of a run as forms that the client shows to a person. */
import { inputFields, type FormField } from "../definition/form/form.ts";
import type { Approval, Run } from "../execution/run/run.ts";
import { formIn } from "../execution/run/tool-call.ts";
import { isFinal } from "../execution/run/states.ts";
import { Refusal } from "../lib/errors.ts";
import { encodeId } from "../lib/ids.ts";
import { isObject, type Json, type JsonObject } from "../lib/json/json.ts";
import { JsonText } from "../lib/json/json-text.ts";
import { LIMITS } from "../lib/limits.ts";
import { shortenedTo } from "../lib/text.ts";
import { decideApproval, type Decision } from "../runs/decide-approval.ts";
import { canDecide, queryFor, readPerson } from "../runs/read/who-decides.ts";
import { listApprovals } from "../runs/read/list-approvals.ts";
import { BEGINNING, readBeginnings } from "../runs/read/read-payloads.ts";
import type { Call, Mcp } from "./call.ts";
import { readPayload } from "./read-payload.ts";

/** By the approval's id, which no other question of the run has. Empty if the caller may decide none, or a form has a field that MCP does not know. */
export async function openQuestions(mcp: Mcp, call: Call, run: Run): Promise<JsonObject> {
  if (isFinal(run.status) || !call.capabilities.hasForms) return {};
  const questions: JsonObject = {};
  const approvals = await decidable(mcp, call, run);
  const contexts = await readContexts(mcp, call, approvals);
  for (const [index, approval] of approvals.entries()) {
    const form = await readPayload(mcp, call, approval.form, { of: "approval", id: approval.id, column: "form" });
    // A tool call is approved as it is; only `decide_approval` changes its arguments.
    const requestedSchema = elicitationSchema(formIn(form?.value as JsonObject | undefined));
    if (!requestedSchema) continue;
    questions[encodeId("approval", approval.id)] = {
      method: "elicitation/create",
      params: { mode: "form", message: messageOf(approval, contexts[index]), requestedSchema },
    };
  }
  return questions;
}

/** Whether nothing is asked any longer, no matter who may decide it. */
export async function isAllDecided({ runs }: Mcp, { caller }: Call, { id }: Run): Promise<boolean> {
  const open = await listApprovals(runs, caller, { runId: [id], status: ["open"] }, { first: 1 });
  return open.items.length === 0;
}

async function decidable({ runs }: Mcp, { caller }: Call, run: Run): Promise<Approval[]> {
  const filter = { runId: [run.id], status: ["open" as const] };
  const { items } = await listApprovals(runs, caller, filter, { first: LIMITS.mcpQuestions }, "asc");
  const person = await readPerson(queryFor(runs.database, caller), caller);
  return items.filter((approval) => canDecide(approval, caller, person, runs.clock.now()));
}

/** As text. A question shows the beginning of a large one. */
async function readContexts(
  { runs }: Mcp,
  { caller, charge }: Call,
  approvals: readonly Approval[],
): Promise<(string | undefined)[]> {
  const large = approvals.filter(({ context }) => context !== null && !(context instanceof JsonText));
  charge(large.length * BEGINNING);
  const keys = large.map(({ id }) => ({ of: "approval", id, column: "context" }) as const);
  const beginnings = new Map(
    (await readBeginnings(runs, caller.organizationId, keys)).map((text = "", index) => [large[index], text]),
  );
  return approvals.map((approval) => {
    if (approval.context instanceof JsonText) return approval.context.text;
    const beginning = beginnings.get(approval);
    return beginning !== undefined && beginning.length >= BEGINNING ? `${beginning}…` : beginning;
  });
}

/** The question, and what it is asked about. */
export function messageOf({ question }: Pick<Approval, "question">, context: string | undefined): string {
  const about = context === undefined || context === "null" ? "" : `\n\n${context}`;
  return shortenedTo(`${question}${about}`, LIMITS.mcpQuestionCharacters);
}

/**
 * Decides what the client answered: `accept` approves, `decline` rejects, `cancel` leaves it open. Answers to anything but an open
 * question of the run are ignored. Throws BAD_USER_INPUT if an answer does not fit its form.
 */
export async function answerQuestions(mcp: Mcp, call: Call, run: Run, responses: JsonObject): Promise<void> {
  for (const approval of await decidable(mcp, call, run)) {
    const key = encodeId("approval", approval.id);
    const decision = Object.hasOwn(responses, key) ? decisionOf(approval, responses[key]!) : undefined;
    if (decision) await decideOnce(mcp, call, decision);
  }
}

/** Whether a person chose not to decide now. */
export const isPutOff = (responses: Json | undefined): boolean =>
  isObject(responses) &&
  Object.keys(responses).length > 0 &&
  Object.values(responses).every((response) => isObject(response) && response["action"] === "cancel");

function decisionOf({ id: approvalId, form }: Approval, response: Json): Decision | undefined {
  if (!isObject(response)) return undefined;
  const { action, content } = response;
  if (action === "decline") return { approvalId, decision: "reject" };
  if (action !== "accept") return undefined;
  return { approvalId, decision: "approve", ...(form && { answer: content ?? {} }) };
}

/** Another decision may have come first. */
async function decideOnce({ runs }: Mcp, { caller }: Call, decision: Decision): Promise<void> {
  try {
    await decideApproval(runs, caller, decision);
  } catch (error) {
    if (!(error instanceof Refusal && error.code === "CONFLICT")) throw error;
  }
}

/** The form as MCP allows one: flat, of texts, numbers, choices and lists of choices. Undefined if a field is another. */
export function elicitationSchema(form: JsonObject | undefined): JsonObject | undefined {
  const properties: JsonObject = {};
  const fields = inputFields(form);
  for (const field of fields) {
    const schema = fieldSchema(field);
    if (!schema) return undefined;
    const { title, description, default: value } = field;
    properties[field.name] = {
      ...schema,
      title,
      ...(description !== null && { description }),
      ...(value !== null && { default: value }),
    };
  }
  const required = fields.filter((field) => field.required).map(({ name }) => name);
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}

function fieldSchema({ type, choices, maxLength }: FormField): JsonObject | undefined {
  switch (type) {
    case "text":
      return { type: "string", ...(maxLength !== null && { maxLength }) };
    case "date":
      return { type: "string", format: "date" };
    case "choice":
      return { type: "string", oneOf: titled(choices) };
    case "list":
      return choices ? { type: "array", items: { anyOf: titled(choices) } } : undefined;
    case "boolean":
    case "number":
    case "integer":
      return { type };
  }
}

const titled = (choices: FormField["choices"]): JsonObject[] =>
  (choices ?? []).map(({ value, title }) => ({ const: value, title }));
