/** What an agent is allowed: its status and its limit. */
import { setAgentStatus } from "../agents/set-agent-status.ts";
import { setAgentLimit } from "../runs/set-agent-limit.ts";
import { findAgent } from "./agents.ts";
import { idOf } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { callerOf } from "./context.ts";
import type { Enums } from "./enums.ts";

export function addAgentSettings(builder: Builder, enums: Enums): void {
  addStatus(builder, enums);
  addLimit(builder);
}

function addStatus(builder: Builder, enums: Enums): void {
  const input = builder.inputType("SetAgentStatusInput", {
    description: "An agent and its new status.",
    fields: (t) => ({
      agentId: t.id({ description: "The agent." }),
      status: t.field({
        type: enums.AgentStatus,
        description: "`active`, `paused` or `archived`; `draft` or `archived` before it was ever published.",
      }),
    }),
  });
  builder.mutationField("setAgentStatus", (t) =>
    t.field({
      type: "Agent",
      description: "Pauses, archives or reactivates an agent. Open runs go on.",
      args: { input: t.arg({ type: input, description: "An agent and its new status." }) },
      resolve: (_, { input: { agentId, status } }, context) =>
        setAgentStatus(context.agents, callerOf(context), { agentId: idOf("agent", agentId), status }),
    }),
  );
}

function addLimit(builder: Builder): void {
  const input = builder.inputType("SetAgentLimitInput", {
    description: "An agent and its limits. What is left out stays as it is.",
    fields: (t) => ({
      agentId: t.id({ description: "The agent." }),
      concurrency: t.int({
        required: false,
        description:
          "How many of its runs may have begun and not ended at the same time, at least 1; null: any number.",
      }),
    }),
  });
  builder.mutationField("setAgentLimit", (t) =>
    t.field({
      type: "Agent",
      description:
        "Limits how many of an agent's runs go on at the same time. Runs that have begun go on; the others queue, the oldest first.",
      args: { input: t.arg({ type: input, description: "An agent and its limits." }) },
      resolve: (_, { input: { agentId, concurrency } }, context) =>
        concurrency === undefined
          ? findAgent(context, agentId)
          : setAgentLimit(context.runs, callerOf(context), { agentId: idOf("agent", agentId), concurrency }),
    }),
  );
}
