/** An agent's status and limit. */
import { setAgentStatus } from "../../agents/set-agent-status.ts";
import { setAgentLimit } from "../../runs/set-agent-limit.ts";
import { findAgent } from "./agents.ts";
import { idOf } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { actingOf } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";

export function addAgentSettings(builder: Builder, enums: Enums): void {
  addStatus(builder, enums);
  addLimit(builder);
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
