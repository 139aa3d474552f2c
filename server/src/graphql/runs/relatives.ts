/** The runs that a run comes from or has started, and those of an agent. */
import { listRuns } from "../../runs/read/list-runs.ts";
import type { Builder } from "../builder/builder.ts";
import { connect, listById, pageArguments, PAGED } from "../builder/connection.ts";
import { callerOf } from "../context/context.ts";
import { findRelative } from "../context/find-relative.ts";
import { checkedFilter, type RunFilterInput } from "./run-filter.ts";

export function addRelatives(builder: Builder, filter: RunFilterInput): void {
  builder.objectField("Agent", "runs", (t) =>
    t.field({
      scope: "runs:read",
      type: "RunConnection",
      extensions: PAGED,
      description: "The agent's runs, newest first.",
      args: {
        filter: t.arg({ type: filter, required: false, description: "Default: all." }),
        ...pageArguments(builder),
      },
      resolve: async ({ id }, { filter: given, ...page }, context) => {
        const wanted = await checkedFilter(context, given ?? {}, "filter");
        const agentId = wanted.agentId && !wanted.agentId.includes(id) ? [] : [id];
        const isNewest = Object.keys(wanted).length === 0;
        return connect(listById("runs", "run", id), page, (request) =>
          isNewest && request.after === undefined
            ? context.loaders.newestRuns(request.first)(id)
            : listRuns(context.runs, callerOf(context), { ...wanted, agentId }, request),
        );
      },
    }),
  );
  builder.objectField("Run", "parent", (t) =>
    t.field({
      scope: "runs:read",
      type: "Run",
      nullable: true,
      description:
        "The run that started this run. Null if no run did, or if the API key is narrowed and does not reach its agent.",
      resolve: ({ parent }, _, context) => parent && findRelative(context, parent.runId),
    }),
  );
  builder.objectField("Run", "retryOf", (t) =>
    t.field({
      scope: "runs:read",
      type: "Run",
      nullable: true,
      description: "The run that this run retries. Null if it retries none.",
      resolve: ({ retryOf }, _, context) => retryOf && findRelative(context, retryOf),
    }),
  );
  builder.objectField("Run", "children", (t) =>
    t.field({
      scope: "runs:read",
      type: "RunConnection",
      extensions: PAGED,
      description: "The runs that this run started, newest first.",
      args: pageArguments(builder),
      resolve: ({ id }, page, context) =>
        connect(listById("children", "run", id), page, (request) =>
          listRuns(context.runs, callerOf(context), { parentId: id }, request),
        ),
    }),
  );
}
