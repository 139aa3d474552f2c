/** Subscriptions to all that changes in an organization, a project or an agent. */
import { watchAgents, watchApprovals, watchRuns, type ChangeFilter } from "../../runs/watch/watch-changes.ts";
import { checkFilter, optionalId } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { callerOf, type Context } from "../context/context.ts";

type Which = { projectId?: string | null | undefined; agentId?: string | null | undefined };

export function addChanges(builder: Builder): void {
  builder.subscriptionField("runsChanged", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "Run",
      description:
        "Sends runs as they start and change, each in its newest state, at most once every 250 ms, and only if a selected field differs from what was sent last. Sends nothing at first and never completes: read `runs` once the subscription is open. Ends with UNAVAILABLE when too many changes are waiting to be read, or some may have been missed.",
      args: changeArguments(builder),
      subscribe: async (_, which, context) =>
        watchRuns(context.runs, callerOf(context), await filterOf(context, which), context.ending.signal),
      resolve: (run, _, context) => about(context, run),
    }),
  );
  builder.subscriptionField("approvalsChanged", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "Approval",
      description:
        "Sends approvals as they are requested, decided, withdrawn or expire, each in its newest state, at most once every 250 ms, and only if a selected field differs from what was sent last. Sends nothing at first and never completes: read `approvals` once the subscription is open. Ends with UNAVAILABLE when too many changes are waiting to be read, or some may have been missed.",
      args: changeArguments(builder),
      subscribe: async (_, which, context) =>
        watchApprovals(context.runs, callerOf(context), await filterOf(context, which), context.ending.signal),
      resolve: (approval, _, context) => about(context, approval),
    }),
  );
  builder.subscriptionField("agentsChanged", (t) =>
    t.field({
      scope: "agents:read",
      narrowedKeys: true,
      type: "Agent",
      description:
        "Sends agents as they are created, published or changed, or their drafts are, each in its newest state, at most once every 250 ms, and only if a selected field differs from what was sent last. Sends nothing at first and never completes: read `agents` once the subscription is open. Ends with UNAVAILABLE when too many changes are waiting to be read, or some may have been missed.",
      args: { projectId: t.arg.id({ required: false, description: "Send only agents in this project." }) },
      subscribe: async (_, which, context) =>
        watchAgents(context.runs, callerOf(context), await filterOf(context, which), context.ending.signal),
      resolve: (agent, _, context) => about(context, agent),
    }),
  );
}

/** Says which object the event is about: it is not sent when its answer is the same as last time. */
function about<Item extends { id: string }>(context: Context, item: Item): Item {
  context.about = item.id;
  return item;
}

const changeArguments = (builder: Builder) =>
  builder.args((t) => ({
    projectId: t.id({
      required: false,
      description: "Send only changes to agents of this project and to what belongs to them.",
    }),
    agentId: t.id({ required: false, description: "Send only changes to this agent and to what belongs to it." }),
  }));

async function filterOf(context: Context, { projectId, agentId }: Which): Promise<ChangeFilter> {
  const filter = { ...optionalId("projectId", "project", projectId), ...optionalId("agentId", "agent", agentId) };
  await checkFilter(context, callerOf(context), {
    ...(filter.projectId && { projectId: [filter.projectId] }),
    ...(filter.agentId && { agentId: [filter.agentId] }),
  });
  return filter;
}
