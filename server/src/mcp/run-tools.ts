/** The tools beside the agents: what becomes of runs, and approvals. */
import { checkInput, misfitOf } from "../definition/form/check-input.ts";
import type { Approval } from "../execution/run/run.ts";
import { toolCallIn } from "../execution/run/tool-call.ts";
import type { Scope } from "../auth/scopes.ts";
import { actorId } from "../lib/actor.ts";
import { notFound } from "../lib/errors.ts";
import { decodeId, encodeId, type Id, type Kind } from "../lib/ids.ts";
import { isObject, type Json, type JsonObject } from "../lib/json/json.ts";
import { stringify } from "../lib/json/json-text.ts";
import { LIMITS } from "../lib/limits.ts";
import { cancelRun } from "../runs/cancel-run.ts";
import { decideApproval } from "../runs/decide-approval.ts";
import { reassignApproval } from "../runs/reassign-approval.ts";
import { signalRun } from "../runs/signal-run.ts";
import { canDecide, queryFor, readPerson, type Person } from "../runs/read/who-decides.ts";
import { listApprovals } from "../runs/read/list-approvals.ts";
import { readRun } from "../runs/read/read.ts";
import { hasScope, needScope, type Call, type Mcp } from "./call.ts";
import type { Tool, ToolResult } from "./protocol.ts";
import { keyOfCall } from "./call-key.ts";
import { readPayload } from "./read-payload.ts";
import { RUN_SCHEMA, runResult } from "./run-result.ts";
import { RUN_TOOLS, type RunTool } from "./tool-name.ts";
import { waitEnd, waitForRun } from "./wait.ts";

type Definition = {
  scope: Scope;
  tool: Omit<Tool, "name" | "inputSchema">;
  /** The arguments, as a form. */
  form: JsonObject;
  /** An argument of any form, which no form of ours has a field for. */
  free?: { name: string; schema: JsonObject };
  /** `key`: of its idempotency. */
  call(mcp: Mcp, call: Call, given: JsonObject, key: string | undefined): Promise<ToolResult>;
};

const RUN_ID = { type: "string", description: "The run's id, run_…" };
const READ_ONLY = { readOnlyHint: true };

const COMMENT = {
  type: "string",
  description: "A comment, such as the reason.",
  maxLength: LIMITS.descriptionCharacters,
};

const DEFINITIONS: Record<RunTool, Definition> = {
  get_run: {
    scope: "runs:read",
    tool: {
      title: "Get a run",
      description: "Shows how a run stands: its status, and its output once it is completed.",
      outputSchema: RUN_SCHEMA,
      annotations: READ_ONLY,
    },
    form: {
      type: "object",
      properties: {
        runId: RUN_ID,
        wait: {
          type: "integer",
          minimum: 0,
          maximum: LIMITS.waitSeconds,
          default: 0,
          description: "How many seconds to wait for the run to end or pause.",
        },
      },
      required: ["runId"],
    },
    call: async (mcp, call, { runId, wait }) => {
      using _place = Number(wait) > 0 ? call.beginWait() : undefined;
      const end = waitEnd(mcp, Number(wait));
      const run = await readRun(mcp.runs, call.caller, idOf("run", runId, "Run"));
      if (!run) throw notFound("Run");
      const now = await waitForRun(mcp, call, run, end);
      return await runResult(mcp, call, now, { failsWithRun: false });
    },
  },
  cancel_run: {
    scope: "runs:cancel",
    tool: {
      title: "Cancel a run",
      description: "Cancels a run at once. What it has done already stays done.",
      outputSchema: RUN_SCHEMA,
      annotations: { destructiveHint: true, idempotentHint: true },
    },
    form: { type: "object", properties: { runId: RUN_ID }, required: ["runId"] },
    call: async (mcp, call, { runId }) => {
      const run = await cancelRun(mcp.runs, call.caller, idOf("run", runId, "Run"));
      return runResult(mcp, call, run, { failsWithRun: false });
    },
  },
  signal_run: {
    scope: "runs:start",
    tool: {
      title: "Send a run a signal",
      description: "Sends an open run a signal, which a step that waits for one of this name takes.",
      outputSchema: RUN_SCHEMA,
    },
    form: {
      type: "object",
      properties: { runId: RUN_ID, name: { type: "string", description: "The name that the run waits for." } },
      required: ["runId", "name"],
    },
    free: { name: "data", schema: { type: "object", description: "The data of the signal. Default: {}." } },
    call: async (mcp, call, { runId, name, data }, idempotencyKey) => {
      const run = await signalRun(mcp.runs, call.caller, {
        runId: idOf("run", runId, "Run"),
        name: String(name),
        data: data ?? {},
        idempotencyKey,
        path: "arguments",
      });
      return runResult(mcp, call, run, { failsWithRun: false });
    },
  },
  list_approvals: {
    scope: "runs:read",
    tool: {
      title: "List open approvals",
      description: "Lists the questions that hold runs until a person decides them, the oldest first.",
      annotations: READ_ONLY,
    },
    form: { type: "object", properties: { runId: { ...RUN_ID, description: "Only those of this run." } } },
    call: listOpen,
  },
  decide_approval: {
    scope: "approvals:decide",
    tool: {
      title: "Decide an approval",
      description:
        "Approves or rejects what an agent asks a person. Decide only what the person told you to decide. The first decision counts.",
      annotations: { destructiveHint: true, idempotentHint: true },
    },
    form: {
      type: "object",
      properties: {
        approvalId: { type: "string", description: "The approval's id, approval_…" },
        decision: { type: "string", enum: ["approve", "reject"] },
        comment: COMMENT,
      },
      required: ["approvalId", "decision"],
    },
    free: {
      name: "answer",
      schema: {
        description:
          "The values of the approval's form, as list_approvals shows it. For a tool call: {arguments}, to have it called with others.",
      },
    },
    call: decide,
  },
  reassign_approval: {
    scope: "approvals:decide",
    tool: {
      title: "Reassign an approval",
      description:
        "Lets others decide an open approval, in place of those who are asked. Reassign only as the person told you to. An approval that is for people already is reassigned by people.",
      annotations: { destructiveHint: true, idempotentHint: true },
    },
    form: {
      type: "object",
      properties: {
        approvalId: { type: "string", description: "The approval's id, approval_…" },
        assignees: {
          type: "array",
          items: { type: "string" },
          description: "E-mails of members, and roles such as role:editor.",
        },
        comment: COMMENT,
      },
      required: ["approvalId", "assignees"],
    },
    call: reassign,
  },
};

/** Those that the caller's scopes allow. */
export const runTools = (call: Call): Tool[] =>
  RUN_TOOLS.filter((name) => hasScope(call, DEFINITIONS[name].scope)).map((name) => {
    const { tool, form, free } = DEFINITIONS[name];
    const { properties } = form as { properties: JsonObject };
    const inputSchema = {
      ...form,
      properties: free ? { ...properties, [free.name]: free.schema } : properties,
      additionalProperties: false,
    };
    return { name, ...tool, inputSchema };
  });

/** Throws FORBIDDEN, BAD_USER_INPUT, NOT_FOUND and CONFLICT. */
export async function callRunTool(mcp: Mcp, call: Call, name: RunTool, params: JsonObject): Promise<ToolResult> {
  const { scope, form, free, call: perform } = DEFINITIONS[name];
  needScope(call, scope);
  const given = params["arguments"] ?? {};
  const { [free?.name ?? ""]: own, ...rest } = isObject(given) ? given : {};
  const hasFree = free !== undefined && isObject(given);
  const { value, problems } = checkInput(form, hasFree ? rest : given, "arguments");
  if (problems) throw misfitOf(`the arguments do not fit ${name}`, problems, "arguments");
  const whole = hasFree && own !== undefined ? { ...value, [free.name]: own } : value;
  return perform(mcp, call, whole, keyOfCall(call, params));
}

/** A malformed id counts as not found. */
function idOf<K extends Kind>(kind: K, text: Json | undefined, what: string): Id<K> {
  const id = decodeId(kind, String(text));
  if (id === undefined) throw notFound(what);
  return id;
}

async function listOpen(mcp: Mcp, call: Call, { runId }: JsonObject): Promise<ToolResult> {
  const { runs } = mcp;
  const filter = { status: ["open" as const], ...(runId !== undefined && { runId: [idOf("run", runId, "Run")] }) };
  const page = await listApprovals(runs, call.caller, filter, { first: LIMITS.mcpApprovalsListed }, "asc");
  const approvals: object[] = [];
  const person = await readPerson(queryFor(runs.database, call.caller), call.caller);
  for (const approval of page.items) approvals.push(await shown(mcp, call, approval, person));
  return structured({ approvals, hasMore: page.hasNextPage });
}

async function shown(mcp: Mcp, call: Call, approval: Approval, person: Person | undefined): Promise<object> {
  const {
    id,
    runId,
    question,
    assignee,
    assignees,
    quorum,
    decisions,
    reassignments,
    expiresAt,
    createdAt,
    dueAt,
    escalatedAt,
  } = approval;
  const of = "approval";
  const kept = await readPayload(mcp, call, approval.form, { of, id, column: "form" });
  const toolCall = toolCallIn(kept?.value as JsonObject | undefined);
  const { name, arguments: given, parameters } = toolCall ?? {};
  const asked = toolCall ? { form: null, toolCall: { name, arguments: given, parameters } } : { form: kept };
  return {
    approvalId: encodeId("approval", id),
    runId: encodeId("run", runId),
    question,
    context: await readPayload(mcp, call, approval.context, { of, id, column: "context" }),
    ...asked,
    assignee,
    assignees: assignees ?? [],
    quorum,
    decisions: decisions.map(({ by, decision, comment, at, isOverride }) => ({
      by: { kind: by.kind, id: actorId(by) },
      decision,
      comment,
      at: at.toISOString(),
      isOverride,
    })),
    reassignments: reassignments.map(({ by, at, ...rest }) => ({
      by: { kind: by.kind, id: actorId(by) },
      at: at.toISOString(),
      ...rest,
    })),
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
    dueAt: dueAt?.toISOString() ?? null,
    escalatedAt: escalatedAt?.toISOString() ?? null,
    canDecide: canDecide(approval, call.caller, person, mcp.runs.clock.now()),
  };
}

async function decide({ runs }: Mcp, { caller }: Call, given: JsonObject): Promise<ToolResult> {
  const { comment, answer } = given;
  const { id, runId, status } = await decideApproval(runs, caller, {
    approvalId: idOf("approval", given["approvalId"], "Approval"),
    decision: given["decision"] as "approve" | "reject",
    ...(typeof comment === "string" && { comment }),
    ...(answer !== undefined && { answer }),
  });
  return structured({ approvalId: encodeId("approval", id), runId: encodeId("run", runId), status });
}

async function reassign({ runs }: Mcp, { caller }: Call, given: JsonObject): Promise<ToolResult> {
  const { comment } = given;
  const { id, runId, assignees } = await reassignApproval(runs, caller, {
    approvalId: idOf("approval", given["approvalId"], "Approval"),
    assignees: given["assignees"] as string[],
    ...(typeof comment === "string" && { comment }),
  });
  return structured({ approvalId: encodeId("approval", id), runId: encodeId("run", runId), assignees });
}

const structured = (structuredContent: object): ToolResult => ({
  content: [{ type: "text", text: stringify(structuredContent) }],
  structuredContent,
});
