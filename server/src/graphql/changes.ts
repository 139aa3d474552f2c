/** Subscriptions to all that changes in an organization, a project or an agent. */
import { watchApprovals, watchRuns, type ChangeFilter } from "../runs/watch-changes.ts";
import { checkFilter, optionalId } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { callerOf, type Context } from "./context.ts";

type Which = { projectId?: string | null | undefined; agentId?: string | null | undefined };

export function addChanges(builder: Builder): void {
  builder.subscriptionField("runsChanged", (t) =>
    t.field({
      type: "Run",
      description:
        "Runs as they start and change, each in its newest state and at most once in 250 ms. Sends nothing at the start and never completes: read `runs` when it is open. Ends with UNAVAILABLE when too many changes wait to be read.",
      args: changeArguments(builder),
      subscribe: async (_, which, context) =>
        watchRuns(
          context.runs,
          callerOf(context).organizationId,
          await filterOf(context, which),
          context.ending.signal,
        ),
      resolve: (run) => run,
    }),
  );
  builder.subscriptionField("approvalsChanged", (t) =>
    t.field({
      type: "Approval",
      description:
        "Approvals as they are asked for, decided, expire or are withdrawn, each in its newest state and at most once in 250 ms. Sends nothing at the start and never completes: read `approvals` when it is open. Ends with UNAVAILABLE when too many changes wait to be read.",
      args: changeArguments(builder),
      subscribe: async (_, which, context) =>
        watchApprovals(
          context.runs,
          callerOf(context).organizationId,
          await filterOf(context, which),
          context.ending.signal,
        ),
      resolve: (approval) => approval,
    }),
  );
}

const changeArguments = (builder: Builder) =>
  builder.args((t) => ({
    projectId: t.id({ required: false, description: "Only of agents in this project." }),
    agentId: t.id({ required: false, description: "Only of this agent." }),
  }));

async function filterOf(context: Context, { projectId, agentId }: Which): Promise<ChangeFilter> {
  const filter = { ...optionalId("projectId", "project", projectId), ...optionalId("agentId", "agent", agentId) };
  await checkFilter(context, callerOf(context).organizationId, filter);
  return filter;
}
