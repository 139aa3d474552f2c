/** Approvals: decided, by themselves or many together, and passed on. */
import { LIMITS } from "../../lib/limits.ts";
import { decideApproval, decideApprovals } from "../../runs/decide-approval.ts";
import { reassignApproval } from "../../runs/reassign-approval.ts";
import { idOf, listOf } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { actingOf } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";

export function addDecisions(builder: Builder, enums: Enums): void {
  addDecide(builder, enums);
  addDecisionResult(builder);
  addDecideMany(builder, enums);
  addReassign(builder);
}

function addDecide(builder: Builder, enums: Enums): void {
  const input = builder.inputType("DecideApprovalInput", {
    description: "Input of `decideApproval`.",
    fields: (t) => ({
      approvalId: t.id({ description: "The approval's id." }),
      decision: t.field({ type: enums.Decision, description: "The decision." }),
      comment: t.string({ required: false, description: "A comment, such as the reason." }),
      answer: t.field({
        type: "JSON",
        required: false,
        description:
          "The values of the approval's form. For a tool call: `{arguments: {…}}` to change its arguments, or nothing. Otherwise any JSON value, or nothing.",
      }),
    }),
  });
  builder.mutationField("decideApproval", (t) =>
    t.field({
      scope: "approvals:decide",
      narrowedKeys: true,
      isUrgent: true,
      type: "Approval",
      description:
        "Decides an approval, and its run continues. With a `quorum`, others may still have to approve: all approve the same answer, and one rejection rejects. FORBIDDEN with the reason `not_assigned` to those who are not asked. Once it is decided, a different decision is CONFLICT; repeating one's own returns the same result.",
      args: { input: t.arg({ type: input, description: "Input of `decideApproval`." }) },
      resolve: (_, { input: { approvalId, decision, comment, answer } }, context) =>
        decideApproval(context.runs, actingOf(context), {
          approvalId: idOf("approval", approvalId),
          decision,
          ...(comment != null && { comment }),
          ...(answer !== undefined && { answer }),
        }),
    }),
  );
}

function addDecisionResult(builder: Builder): void {
  builder.objectType("DecisionRefusal", {
    description: "Why one of several approvals could not be decided.",
    fields: (t) => ({
      code: t.exposeString("code", { scope: "inherited", description: "As `extensions.code` of an error." }),
      reason: t.string({
        scope: "inherited",
        nullable: true,
        description: "As `extensions.reason` of an error. Null if it has none.",
        resolve: ({ details }) => details.reason ?? null,
      }),
      message: t.exposeString("message", { scope: "inherited", description: "The sentence." }),
      fields: t.field({
        scope: "inherited",
        type: ["FieldProblem"],
        extensions: { cost: { most: 10 } },
        description: "What does not fit the approval's form. Empty if it is about anything else.",
        resolve: ({ details }) => details.fields ?? [],
      }),
    }),
  });
  builder.objectType("DecisionResult", {
    description: "The outcome of one of several approvals that are decided together: `approval` or `error`.",
    fields: (t) => ({
      approvalId: t.exposeID("approvalId", { scope: "inherited", description: "The id that was given." }),
      approval: t.field({
        scope: "inherited",
        type: "Approval",
        nullable: true,
        description: "The approval as it was decided. Null if it was not.",
        resolve: ({ approval }) => approval,
      }),
      error: t.field({
        scope: "inherited",
        type: "DecisionRefusal",
        nullable: true,
        description: "Why it was not decided. Null if it was.",
        resolve: ({ refusal }) => {
          if (!refusal) return null;
          const { code, details, message } = refusal;
          return { code, details, message };
        },
      }),
    }),
  });
  builder.objectType("DecideApprovalsResult", {
    description: "The outcome of `decideApprovals`.",
    fields: (t) => ({
      results: t.field({
        scope: "inherited",
        type: ["DecisionResult"],
        extensions: { cost: { most: LIMITS.argumentItems } },
        description: "One of each id, in the order in which they were first given.",
        resolve: ({ results }) => results,
      }),
    }),
  });
}

function addDecideMany(builder: Builder, enums: Enums): void {
  const input = builder.inputType("DecideApprovalsInput", {
    description: "Input of `decideApprovals`.",
    fields: (t) => ({
      approvalIds: t.idList({
        description: `The approvals, at most ${LIMITS.argumentItems}. One that is given twice is decided once.`,
      }),
      decision: t.field({ type: enums.Decision, description: "The decision on each of them." }),
      comment: t.string({ required: false, description: "A comment on each, such as the reason." }),
      answer: t.field({
        type: "JSON",
        required: false,
        description: "As in `decideApproval`, the same for each of them.",
      }),
    }),
  });
  builder.mutationField("decideApprovals", (t) =>
    t.field({
      scope: "approvals:decide",
      narrowedKeys: true,
      isUrgent: true,
      type: "DecideApprovalsResult",
      description:
        "Decides each approval of a list as `decideApproval` does, and says of each whether it was decided or why not. What is refused of one changes nothing about the others. A repeat returns the same result.",
      args: { input: t.arg({ type: input, description: "Input of `decideApprovals`." }) },
      resolve: async (_, { input: { approvalIds, decision, comment, answer } }, context) => ({
        results: await decideApprovals(context.runs, actingOf(context), listOf(approvalIds, "input.approvalIds"), {
          idOf: (id) => idOf("approval", id),
          decision,
          ...(comment != null && { comment }),
          ...(answer !== undefined && { answer }),
        }),
      }),
    }),
  );
}

function addReassign(builder: Builder): void {
  const input = builder.inputType("ReassignApprovalInput", {
    description: "Input of `reassignApproval`.",
    fields: (t) => ({
      approvalId: t.id({ description: "The approval's id." }),
      assignees: t.stringList({
        description: `Who decides from now on, in place of those who are asked: 1 to ${LIMITS.approvalAssignees} e-mails of members and roles as \`role:editor\`.`,
      }),
      comment: t.string({ required: false, description: "A comment, such as the reason." }),
    }),
  });
  builder.mutationField("reassignApproval", (t) =>
    t.field({
      scope: "approvals:decide",
      narrowedKeys: true,
      type: "Approval",
      description:
        "Passes an open approval on to others. Owners and admins may, and an assignee who has not decided yet: where several have to approve, only their own place, from their e-mail to another one. FORBIDDEN with the reason `not_assigned` to others. CONFLICT once it is closed. A repeat returns the same result.",
      args: { input: t.arg({ type: input, description: "Input of `reassignApproval`." }) },
      resolve: (_, { input: { approvalId, assignees, comment } }, context) =>
        reassignApproval(context.runs, actingOf(context), {
          approvalId: idOf("approval", approvalId),
          assignees,
          ...(comment != null && { comment }),
        }),
    }),
  );
}
