/** Approvals: questions that hold runs, and their decisions. */
import type { JsonObject } from "../../lib/json/json.ts";
import { JsonText } from "../../lib/json/json-text.ts";
import { encodeId } from "../../lib/ids.ts";
import { canDecide, isBound, namesOf, queryFor, readPerson } from "../../runs/read/who-decides.ts";
import { listApprovals } from "../../runs/read/list-approvals.ts";
import { readApproval, readRun } from "../../runs/read/read.ts";
import type { Approval } from "../../execution/run/run.ts";
import { formIn, toolCallIn } from "../../execution/run/tool-call.ts";
import { fieldsOf } from "../context/form-fields.ts";
import { readPayload } from "../context/payloads.ts";
import { checkFilter, requireFound, idOf, listOf, optionalIds } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, listById, pageArguments, PAGED } from "../builder/connection.ts";
import { callerOf, type Context } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";

export function addApprovals(builder: Builder, enums: Enums): void {
  addToolCall(builder);
  addDecision(builder, enums);
  addReassignment(builder);
  addApproval(builder, enums);
  addConnection(builder, "Approval");
  addQueries(builder, enums);
}

/** Most approvals have no more decisions, and the names of all are read together. */
const DECISIONS_COUNTED = { cost: { most: 3 } };

/** Its form, or the tool call in its place. */
const readForm = (context: Context, { id, form }: Approval): ReturnType<typeof readPayload> =>
  readPayload(context, form, { of: "approval", id, column: "form" });

function addToolCall(builder: Builder): void {
  builder.objectType("ToolCall", {
    description:
      "A tool call of an assistant that a person decides on. If it is approved, the tool is called once, with these arguments or with those in `answer.arguments` of the decision.",
    fields: (t) => ({
      name: t.exposeString("name", { scope: "inherited", description: "The tool." }),
      arguments: t.field({
        scope: "inherited",
        type: "JSON",
        description: "An object of the arguments that the model wants.",
        resolve: ({ arguments: given }) => JsonText.ofValue(given),
      }),
      parameters: t.field({
        scope: "inherited",
        type: "JSON",
        description: "JSON Schema of the arguments.",
        resolve: ({ parameters }) => JsonText.ofValue(parameters),
      }),
      argumentFields: t.field({
        scope: "inherited",
        type: ["InputField"],
        description: "The arguments as the fields of a form. Empty if they can't be shown as one.",
        resolve: ({ isForm, parameters }, _, context) => fieldsOf(context, isForm ? parameters : undefined),
      }),
    }),
  });
}

function addDecision(builder: Builder, enums: Enums): void {
  builder.objectType("ApprovalDecision", {
    description: "A decision of one of those who are asked.",
    fields: (t) => ({
      by: t.expose("by", { scope: "inherited", type: "Actor", description: "Who decided." }),
      decision: t.expose("decision", { scope: "inherited", type: enums.Decision, description: "The decision." }),
      comment: t.exposeString("comment", { scope: "inherited", nullable: true, description: "The comment on it." }),
      at: t.expose("at", { scope: "inherited", type: "DateTime", description: "When." }),
      isOverride: t.exposeBoolean("isOverride", {
        scope: "inherited",
        description: "Whether an owner or an admin decided in place of those who are named.",
      }),
    }),
  });
}

function addReassignment(builder: Builder): void {
  builder.objectType("ApprovalReassignment", {
    description: "Somebody passed an approval on to others, or the service itself escalated it.",
    fields: (t) => ({
      by: t.expose("by", {
        scope: "inherited",
        type: "Actor",
        description: "Who did. Of the kind `system`: nobody had decided in time, and it was escalated.",
      }),
      at: t.expose("at", { scope: "inherited", type: "DateTime", description: "When." }),
      from: t.field({
        scope: "inherited",
        type: ["String"],
        description: "The assignees before. Empty: anyone.",
        resolve: ({ from }) => [...from],
      }),
      to: t.field({
        scope: "inherited",
        type: ["String"],
        description: "The assignees afterwards.",
        resolve: ({ to }) => [...to],
      }),
      comment: t.exposeString("comment", { scope: "inherited", nullable: true, description: "The comment on it." }),
      isOverride: t.exposeBoolean("isOverride", {
        scope: "inherited",
        description: "Whether an owner or an admin did whom nobody had asked.",
      }),
    }),
  });
}

function addApproval(builder: Builder, enums: Enums): void {
  builder.objectType("Approval", {
    description: "An approval: a question to a person. The run waits until it is decided.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("approval", id),
        description: "The approval's id, `approval_…`.",
      }),
      status: t.expose("status", { scope: "inherited", type: enums.ApprovalStatus, description: "Current status." }),
      question: t.exposeString("question", { scope: "inherited", description: "The question." }),
      context: t.field({
        scope: "runs:read",
        type: "JSON",
        nullable: true,
        description: "Information that helps to decide.",
        resolve: ({ id, context: value }, _, context) =>
          readPayload(context, value, { of: "approval", id, column: "context" }),
      }),
      assignee: t.exposeString("assignee", {
        scope: "inherited",
        nullable: true,
        description:
          "Who should decide, in the words of the definition: one of `assignees`, or a note if it is neither an e-mail nor a role.",
      }),
      assignees: t.field({
        scope: "inherited",
        type: ["String"],
        description:
          "Who may decide: e-mails of members, and roles as `role:editor`. Empty: anyone with the scope `approvals:decide`. Owners and admins may decide in place of those who are named.",
        resolve: ({ assignees }) => [...(assignees ?? [])],
      }),
      quorum: t.exposeInt("quorum", {
        scope: "inherited",
        description: "How many have to approve. One rejection rejects.",
      }),
      decisions: t.field({
        scope: "inherited",
        type: ["ApprovalDecision"],
        extensions: DECISIONS_COUNTED,
        description: "What was decided so far, in this order. With a quorum, there may be some while it is open.",
        resolve: ({ decisions }) => [...decisions],
      }),
      reassignments: t.field({
        scope: "inherited",
        type: ["ApprovalReassignment"],
        extensions: DECISIONS_COUNTED,
        description: "Who passed it on to whom, in this order.",
        resolve: ({ reassignments }) => [...reassignments],
      }),
      dueAt: t.expose("dueAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description:
          "By when a decision is wanted: when it is first reminded of, escalated or expires, whichever comes first. It stays when that time is over. Null if none of them is set.",
      }),
      escalatedAt: t.expose("escalatedAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When it was escalated: others may decide it as well since then. Null if it was not.",
      }),
      remindedAt: t.expose("remindedAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When those who are asked were reminded. Null if they were not.",
      }),
      form: t.field({
        scope: "runs:read",
        type: "JSON",
        nullable: true,
        description: "JSON schema of the answer. Null if the approval has no form, or asks for a tool call.",
        resolve: async (approval, _, context) => {
          const text = await readForm(context, approval);
          return text && formIn(text.value as JsonObject) ? text : null;
        },
      }),
      answerFields: t.field({
        scope: "runs:read",
        type: ["InputField"],
        description: "The form's fields. Empty if the approval has no form.",
        resolve: async (approval, _, context) => {
          const text = await readForm(context, approval);
          return fieldsOf(context, formIn(text?.value as JsonObject | undefined));
        },
      }),
      toolCall: t.field({
        scope: "runs:read",
        type: "ToolCall",
        nullable: true,
        description:
          "The tool call of an assistant that waits for the decision. Null if the approval asks anything else.",
        resolve: async (approval, _, context) => {
          const text = await readForm(context, approval);
          return toolCallIn(text?.value as JsonObject | undefined);
        },
      }),
      run: t.field({
        scope: "runs:read",
        type: "Run",
        description: "The run that waits.",
        resolve: async ({ runId }, _, context) =>
          requireFound("run", await readRun(context.runs, callerOf(context), runId)),
      }),
      stepNumber: t.exposeInt("stepNumber", { scope: "inherited", description: "Number of the step that waits." }),
      agent: t.field({
        scope: "inherited",
        type: "Agent",
        description: "The agent.",
        resolve: ({ agentId }, _, { loaders }) => loaders.agent(agentId),
      }),
      project: t.field({
        scope: "inherited",
        type: "Project",
        description: "The agent's project.",
        resolve: ({ projectId }, _, { loaders }) => loaders.project(projectId),
      }),
      canDecide: t.boolean({
        scope: "inherited",
        description:
          "Whether the caller can decide it now: it is open, has not expired, the caller has the scope `approvals:decide`, is one of those who may decide, and has not yet.",
        resolve: async (approval, _, context) => {
          const caller = callerOf(context);
          const asksWho = approval.status === "open" && isBound(approval) && caller.credential.kind === "user";
          const person = asksWho ? await context.loaders.person(caller.user.id) : null;
          return canDecide(approval, caller, person ?? undefined, context.clock.now());
        },
      }),
      createdAt: t.expose("createdAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the approval was requested.",
      }),
      expiresAt: t.expose("expiresAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When the approval expires. Null if it never does.",
      }),
      decidedAt: t.expose("decidedAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When the approval was decided.",
      }),
      decidedBy: t.expose("decidedBy", {
        scope: "inherited",
        type: "Actor",
        nullable: true,
        description: "Who decided it, with a quorum the last one. Null if nobody did, or others are still needed.",
      }),
      comment: t.exposeString("comment", {
        scope: "inherited",
        nullable: true,
        description: "The comment on the decision.",
      }),
      answer: t.field({
        scope: "runs:read",
        type: "JSON",
        nullable: true,
        description:
          "The values of the form that came with the decision, or `{arguments}` if they were changed for a tool call.",
        resolve: ({ id, answer }, _, context) => readPayload(context, answer, { of: "approval", id, column: "answer" }),
      }),
    }),
  });
}

export async function findApproval(context: Context, id: string): Promise<Approval> {
  return requireFound("approval", await readApproval(context.runs, callerOf(context), idOf("approval", id)));
}

async function ownNames(context: Context): Promise<string[]> {
  const caller = callerOf(context);
  const person = await readPerson(queryFor(context.runs.database, caller), caller);
  return person ? namesOf(person) : [];
}

const APPROVALS = listById("approvals", "approval");

function addQueries(builder: Builder, enums: Enums): void {
  const filterType = builder.inputType("ApprovalFilter", {
    description:
      "Selects the approvals that match every field given. A list selects those that match any of its values; an empty list selects none.",
    fields: (t) => ({
      status: t.field({ type: [enums.ApprovalStatus], required: false, description: "With any of these statuses." }),
      projectId: t.idList({ required: false, description: "Of agents in any of these projects." }),
      agentId: t.idList({ required: false, description: "Of any of these agents." }),
      runId: t.idList({ required: false, description: "Of any of these runs." }),
      assignedToMe: t.boolean({
        required: false,
        description:
          "`true`: those whose `assignees` name the caller, by e-mail or by role. An API key is nobody, and gets none. Other values select all.",
      }),
    }),
  });
  builder.queryField("approval", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "Approval",
      nullable: true,
      description: "The approval with this id. NOT_FOUND if there is none.",
      args: { id: t.arg.id({ description: "The approval's id." }) },
      resolve: (_, { id }, context) => findApproval(context, id),
    }),
  );
  builder.queryField("approvals", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "ApprovalConnection",
      extensions: PAGED,
      description: "Approvals, newest first. `filter: {status: open}, direction: asc` is the inbox.",
      args: {
        filter: t.arg({ type: filterType, required: false, description: "Default: all." }),
        direction: t.arg({
          type: enums.SortDirection,
          required: false,
          defaultValue: "desc",
          description: "`asc`: oldest first.",
        }),
        ...pageArguments(builder),
      },
      resolve: async (_, { filter, direction, ...page }, context) => {
        const { status, projectId, agentId, runId, assignedToMe } = filter ?? {};
        const caller = callerOf(context);
        const wanted = {
          ...(status && { status: listOf(status, "filter.status") }),
          ...optionalIds("projectId", "project", projectId, "filter"),
          ...optionalIds("agentId", "agent", agentId, "filter"),
          ...optionalIds("runId", "run", runId, "filter"),
          ...(assignedToMe === true && { assignedTo: await ownNames(context) }),
        };
        await checkFilter(context, caller, wanted);
        return connect(APPROVALS, page, (request) =>
          listApprovals(context.runs, caller, wanted, request, direction ?? "desc"),
        );
      },
    }),
  );
}
