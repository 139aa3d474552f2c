/** The runs that a run comes from or has started. */
import type { RunId } from "../lib/ids.ts";
import { listRuns } from "../runs/list-runs.ts";
import { readRun } from "../runs/read.ts";
import type { Run } from "../runs/run.ts";
import type { Builder } from "./builder.ts";
import { connectionOf, pageArguments, PAGED } from "./connection.ts";
import { callerWith, type Context } from "./context.ts";
import { runCursor, runPage } from "./runs.ts";

/** Null when its month was dropped, or when starting it failed. */
export async function findRelative(context: Context, id: RunId): Promise<Run | null> {
  const { organizationId } = callerWith(context, "runs:read");
  return (await readRun(context.runs, organizationId, id)) ?? null;
}

export function addRelatives(builder: Builder): void {
  builder.objectField("Run", "parent", (t) =>
    t.field({
      type: "Run",
      nullable: true,
      description: "The run that started it.",
      resolve: ({ parent }, _, context) => parent && findRelative(context, parent.runId),
    }),
  );
  builder.objectField("Run", "retryOf", (t) =>
    t.field({
      type: "Run",
      nullable: true,
      description: "The run that it tries again (`retryRun`).",
      resolve: ({ retryOf }, _, context) => retryOf && findRelative(context, retryOf),
    }),
  );
  builder.objectField("Run", "children", (t) =>
    t.field({
      type: "RunConnection",
      extensions: PAGED,
      description: "The runs that its steps started, newest first.",
      args: pageArguments(builder),
      resolve: async ({ id }, page, context) => {
        const { organizationId } = callerWith(context, "runs:read");
        return connectionOf(await listRuns(context.runs, organizationId, { parentId: id }, runPage(page)), runCursor);
      },
    }),
  );
}
