/** Approvals: the questions that hold runs, and their decisions. */
import type { JsonObject } from "../lib/json.ts";
import { decodeId, encodeId, type Id } from "../lib/ids.ts";
import { decideApproval } from "../runs/decide-approval.ts";
import { listApprovals, readApproval, readRun } from "../runs/read.ts";
import type { Approval } from "../runs/run.ts";
import { fieldsOf } from "./form-fields.ts";
import { readPayload } from "./payloads.ts";
import { checkFilter, found, idOf, optionalId } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { addConnection, connectionOf, pageArguments, PAGED, pageRequest } from "./connection.ts";
import { callerOf, type Context } from "./context.ts";
import type { Enums } from "./enums.ts";

export function addApprovals(builder: Builder, enums: Enums): void {
  addApproval(builder, enums);
  addConnection(builder, "Approval");
  addQueries(builder, enums);
  addDecide(builder, enums);
}

function addApproval(builder: Builder, enums: Enums): void {
  builder.objectType("ApprovalDecider", {
    description: "Who decided.",
    fields: (t) => ({
      kind: t.expose("kind", { type: enums.StarterKind, description: "`user` or `key`." }),
      id: t.id({
        description: "Its id.",
        resolve: ({ kind, id }) => encodeId(kind === "user" ? "user" : "apiKey", id as Id<"user" | "apiKey">),
      }),
    }),
  });
  builder.objectType("Approval", {
    description: "A question to a person that holds a run in `paused`.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({ resolve: ({ id }) => encodeId("approval", id), description: "A TypeID, `approval_…`." }),
      status: t.expose("status", { type: enums.ApprovalStatus, description: "Where it stands." }),
      question: t.exposeString("question", { description: "What is asked." }),
      context: t.field({
        type: "JSON",
        nullable: true,
        description: "What helps to decide.",
        resolve: ({ id, context: value }, _, context) =>
          readPayload(context, value, { of: "approval", id, column: "context" }),
      }),
      assignee: t.exposeString("assignee", {
        nullable: true,
        description: "Who should decide, as the agent names them.",
      }),
      form: t.field({
        type: "JSON",
        nullable: true,
        description: "JSON schema of the answer.",
        resolve: ({ id, form }, _, context) => readPayload(context, form, { of: "approval", id, column: "form" }),
      }),
      answerFields: t.field({
        type: ["InputField"],
        description: "The same, for showing a form; empty without one.",
        resolve: async ({ id, form }, _, context) => {
          const text = await readPayload(context, form, { of: "approval", id, column: "form" });
          return fieldsOf(context, text?.value as JsonObject | undefined);
        },
      }),
      run: t.field({
        type: "Run",
        description: "The run that waits.",
        resolve: async ({ runId }, _, context) =>
          found("run", await readRun(context.runs, callerOf(context).organizationId, runId)),
      }),
      stepNumber: t.exposeInt("stepNumber", { description: "Number of the step that waits." }),
      agent: t.field({
        type: "Agent",
        description: "Whose run waits.",
        resolve: ({ agentId }, _, { loaders }) => loaders.agent(agentId),
      }),
      project: t.field({
        type: "Project",
        description: "The agent's project.",
        resolve: ({ projectId }, _, { loaders }) => loaders.project(projectId),
      }),
      createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was asked." }),
      expiresAt: t.expose("expiresAt", { type: "DateTime", nullable: true, description: "When it expires." }),
      decidedAt: t.expose("decidedAt", { type: "DateTime", nullable: true, description: "When it was decided." }),
      decidedBy: t.expose("decidedBy", { type: "ApprovalDecider", nullable: true, description: "Who decided." }),
      comment: t.exposeString("comment", { nullable: true, description: "What they said." }),
      answer: t.field({
        type: "JSON",
        nullable: true,
        description: "What they filled in.",
        resolve: ({ id, answer }, _, context) => readPayload(context, answer, { of: "approval", id, column: "answer" }),
      }),
    }),
  });
}

export async function findApproval(context: Context, id: string): Promise<Approval> {
  const { organizationId } = callerOf(context);
  return found("approval", await readApproval(context.runs, organizationId, idOf("approval", id)));
}

function addQueries(builder: Builder, enums: Enums): void {
  const filterType = builder.inputType("ApprovalFilter", {
    description: "Which approvals: those that fit all fields given.",
    fields: (t) => ({
      status: t.field({ type: enums.ApprovalStatus, required: false, description: "In this state." }),
      projectId: t.id({ required: false, description: "Of agents in this project." }),
      agentId: t.id({ required: false, description: "Of this agent." }),
      runId: t.id({ required: false, description: "Of this run." }),
    }),
  });
  builder.queryField("approval", (t) =>
    t.field({
      type: "Approval",
      nullable: true,
      description: "One approval. NOT_FOUND when there is none of that id.",
      args: { id: t.arg.id({ description: "A TypeID, `approval_…`." }) },
      resolve: (_, { id }, context) => findApproval(context, id),
    }),
  );
  builder.queryField("approvals", (t) =>
    t.field({
      type: "ApprovalConnection",
      extensions: PAGED,
      description: "Approvals, newest first; with `filter: {status: open}` the inbox.",
      args: {
        filter: t.arg({ type: filterType, required: false, description: "Which; all without it." }),
        ...pageArguments(builder),
      },
      resolve: async (_, { filter, ...page }, context) => {
        const { status, projectId, agentId, runId } = filter ?? {};
        const wanted = {
          ...(status && { status }),
          ...optionalId("projectId", "project", projectId),
          ...optionalId("agentId", "agent", agentId),
          ...optionalId("runId", "run", runId),
        };
        const request = pageRequest(page, (cursor) => decodeId("approval", cursor));
        const { organizationId } = callerOf(context);
        await checkFilter(context, organizationId, wanted);
        const approvals = await listApprovals(context.runs, organizationId, wanted, request);
        return connectionOf(approvals, ({ id }) => encodeId("approval", id));
      },
    }),
  );
}

function addDecide(builder: Builder, enums: Enums): void {
  const input = builder.inputType("DecideApprovalInput", {
    description: "A decision.",
    fields: (t) => ({
      approvalId: t.id({ description: "The approval." }),
      decision: t.field({ type: enums.Decision, description: "Approve or reject." }),
      comment: t.string({ required: false, description: "Why." }),
      answer: t.field({ type: "JSON", required: false, description: "The form filled in, when the approval has one." }),
    }),
  });
  builder.mutationField("decideApproval", (t) =>
    t.field({
      type: "Approval",
      description: "Decides an approval, and its run goes on. The first decision counts: a second one is CONFLICT.",
      args: { input: t.arg({ type: input, description: "The decision." }) },
      resolve: (_, { input: { approvalId, decision, comment, answer } }, context) =>
        decideApproval(context.runs, callerOf(context), {
          approvalId: idOf("approval", approvalId),
          decision,
          ...(comment != null && { comment }),
          ...(answer !== undefined && { answer }),
        }),
    }),
  );
}
