/** Numbers instead of lists: how many runs, and how much is open. */
import { readDecider } from "../../runs/read/who-decides.ts";
import { watchBadges } from "../../runs/watch/watch-badges.ts";
import { countRuns } from "../../runs/read/count-runs.ts";
import { LIMITS } from "../../lib/limits.ts";
import { checkFilter, optionalId } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { callerOf, type Context } from "../context/context.ts";
import { checkedFilter, type RunFilterInput } from "./run-filter.ts";

export function addCounts(builder: Builder, filter: RunFilterInput): void {
  addRunCount(builder, filter);
  addBadges(builder);
}

function addRunCount(builder: Builder, filter: RunFilterInput): void {
  builder.objectType("Count", {
    description: "How many objects there are.",
    fields: (t) => ({
      value: t.exposeInt("value", {
        scope: "inherited",
        description: `The number: exact up to ${LIMITS.counted}, estimated above.`,
      }),
      isExact: t.exposeBoolean("isExact", {
        scope: "inherited",
        description: "Whether the number was counted, not estimated.",
      }),
    }),
  });
  builder.queryField("runCount", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "Count",
      description: "How many runs match a filter.",
      args: { filter: t.arg({ type: filter, required: false, description: "Default: all." }) },
      resolve: async (_, { filter: given }, context) =>
        countRuns(context.runs, callerOf(context), await checkedFilter(context, given ?? {}, "filter")),
    }),
  );
}

function addBadges(builder: Builder): void {
  builder.objectType("Badges", {
    description: `How much is open. Each number is counted up to ${LIMITS.counted}, which means that or more.`,
    fields: (t) => ({
      openRuns: t.exposeInt("openRuns", { scope: "inherited", description: "Runs that have not ended." }),
      openApprovals: t.exposeInt("openApprovals", {
        scope: "inherited",
        description: "Open approvals that the caller may decide (`Approval.canDecide`).",
      }),
    }),
  });
  const ofProject = builder.args((t) => ({
    projectId: t.id({ required: false, description: "Count only agents in this project." }),
  }));
  const projectOf = async (context: Context, text: string | null | undefined) => {
    const { projectId } = optionalId("projectId", "project", text);
    const within = callerOf(context);
    await checkFilter(context, within, projectId ? { projectId: [projectId] } : {});
    return { within, projectId };
  };
  builder.queryField("badges", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "Badges",
      description: "How many runs are open, and how many approvals wait for the caller.",
      args: ofProject,
      resolve: async (_, { projectId }, context) => {
        const of = await projectOf(context, projectId);
        return context.runs.badgeCounts.add({ ...of, decider: await readDecider(context.runs.database, of.within) });
      },
    }),
  );
  builder.subscriptionField("badgesChanged", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "Badges",
      description:
        "Sends how many runs are open and how many approvals wait for the caller, at once and whenever the numbers change, at most every 250 ms. Never completes.",
      args: ofProject,
      subscribe: async (_, { projectId: text }, context) => {
        const { within, projectId } = await projectOf(context, text);
        return watchBadges(context.runs, within, projectId, context.ending.signal);
      },
      resolve: (badges) => badges,
    }),
  );
}
