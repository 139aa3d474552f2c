/** An agent's status and limit, and who is told of its failures. */
import { setAgentStatus } from "../../agents/set-agent-status.ts";
import { setAgentLimit } from "../../runs/set-agent-limit.ts";
import { setFailureMails } from "../../triggers/failures/set-failure-mails.ts";
import { findAgent } from "./agents.ts";
import { LIMITS } from "../../lib/limits.ts";
import { idOf } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { actingOf, callerOf } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";

export function addAgentSettings(builder: Builder, enums: Enums): void {
  addStatus(builder, enums);
  addLimit(builder);
  addFailureMails(builder);
}

function addStatus(builder: Builder, enums: Enums): void {
  const input = builder.inputType("SetAgentStatusInput", {
    description: "Input of `setAgentStatus`.",
    fields: (t) => ({
      agentId: t.id({ description: "The agent's id." }),
      status: t.field({
        type: enums.AgentStatus,
        description: "`active`, `paused` or `archived`; for an agent that was never published, `draft` or `archived`.",
      }),
    }),
  });
  builder.mutationField("setAgentStatus", (t) =>
    t.field({
      scope: "agents:write",
      narrowedKeys: true,
      type: "Agent",
      description: "Pauses, archives or reactivates an agent. Open runs continue.",
      args: { input: t.arg({ type: input, description: "Input of `setAgentStatus`." }) },
      resolve: (_, { input: { agentId, status } }, context) =>
        setAgentStatus(context.agents, actingOf(context), { agentId: idOf("agent", agentId), status }),
    }),
  );
}

function addLimit(builder: Builder): void {
  const input = builder.inputType("SetAgentLimitInput", {
    description: "Input of `setAgentLimit`. A limit that is left out stays as it is.",
    fields: (t) => ({
      agentId: t.id({ description: "The agent's id." }),
      concurrency: t.int({
        required: false,
        description:
          "How many of the agent's runs may be under way at the same time, at least 1. Null removes the limit.",
      }),
    }),
  });
  builder.mutationField("setAgentLimit", (t) =>
    t.field({
      scope: "agents:write",
      narrowedKeys: true,
      type: "Agent",
      description:
        "Limits how many of an agent's runs may be under way at the same time. Runs that have begun continue; further runs queue and begin in order, oldest first.",
      args: { input: t.arg({ type: input, description: "Input of `setAgentLimit`." }) },
      resolve: (_, { input: { agentId, concurrency } }, context) =>
        concurrency === undefined
          ? findAgent(context, agentId)
          : setAgentLimit(context.runs, actingOf(context), { agentId: idOf("agent", agentId), concurrency }),
    }),
  );
}

function addFailureMails(builder: Builder): void {
  builder.objectField("Agent", "failureMails", (t) =>
    t.stringList({
      scope: "agents:read",
      nullable: true,
      description:
        "The e-mail addresses of the members who get a mail when a run fails that a trigger started. Null if there are none, and for a narrowed API key.",
      resolve: ({ id }, _, context) => (callerOf(context).reach ? null : context.loaders.failureMails(id)),
    }),
  );
  const input = builder.inputType("SetFailureMailsInput", {
    description: "Input of `setFailureMails`.",
    fields: (t) => ({
      agentId: t.id({ description: "The agent's id." }),
      emails: t.stringList({
        description: `The e-mail addresses of members, ${LIMITS.failureMailMembers} at most. An empty list: nobody gets a mail.`,
      }),
    }),
  });
  builder.mutationField("setFailureMails", (t) =>
    t.field({
      scope: "triggers:write",
      narrowedKeys: false,
      answers: ["Agent.failureMails"],
      type: "Agent",
      description: `Says who gets a mail when runs of an agent fail that triggers started: at most one mail per agent every ${LIMITS.failureMailMinutes} minutes, with how many failed. CONFLICT (\`mail_not_configured\`) if the server sends no mail.`,
      args: { input: t.arg({ type: input, description: "Input of `setFailureMails`." }) },
      resolve: (_, { input: { agentId, emails } }, context) =>
        setFailureMails(context.triggers, actingOf(context), { agentId: idOf("agent", agentId), emails }),
    }),
  );
}
