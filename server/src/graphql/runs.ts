/** Runs: read and listed. */
import { decodeId, encodeId, type Id } from "../lib/ids.ts";
import type { JsonText } from "../lib/json-text.ts";
import { listRuns } from "../runs/list-runs.ts";
import { listApprovals, readRun } from "../runs/read.ts";
import type { Run } from "../runs/run.ts";
import { found, idOf } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { addConnection, connectionOf, pageArguments, PAGED, pageRequest } from "./connection.ts";
import { callerOf, callerWith, type Context } from "./context.ts";
import type { Enums } from "./enums.ts";
import type { Starter } from "./objects.ts";
import { readError, readPayload } from "./payloads.ts";
import { checkedFilter, STARTERS, type RunFilterInput } from "./run-filter.ts";

export function addRuns(builder: Builder, enums: Enums, filter: RunFilterInput): void {
  addRunParts(builder, enums);
  addRun(builder, enums);
  addConnection(builder, "Run");
  addQueries(builder, filter);
}

/** A trigger's id has no public form before there are triggers. */
function starterId({ kind, id }: Starter): string {
  if (kind === "trigger") return id;
  return encodeId(STARTERS[kind], id as Id<"user" | "apiKey" | "run">);
}

function addRunParts(builder: Builder, enums: Enums): void {
  builder.objectType("RunStarter", {
    description: "Who or what started a run.",
    fields: (t) => ({
      kind: t.expose("kind", { type: enums.StarterKind, description: "What it is." }),
      id: t.id({ description: "Its id, whose prefix tells the kind too.", resolve: starterId }),
    }),
  });
  builder.objectType("RunError", {
    description: "An error in the terms of the definition language (RFC 7807).",
    fields: (t) => ({
      type: t.exposeString("type", { description: "A URI; its last segment tells the kind, like `timeout`." }),
      status: t.exposeInt("status", { description: "As an HTTP status." }),
      title: t.exposeString("title", { nullable: true, description: "The kind in words." }),
      detail: t.exposeString("detail", { nullable: true, description: "What happened." }),
      instance: t.exposeString("instance", {
        nullable: true,
        description: "JSON pointer to the task in the definition.",
      }),
      step: t.exposeInt("step", { nullable: true, description: "Number of the step that raised it." }),
    }),
  });
}

function addRun(builder: Builder, enums: Enums): void {
  builder.objectType("Run", {
    description: "One execution of one version of an agent with one input.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({ resolve: ({ id }) => encodeId("run", id), description: "A TypeID, `run_…`." }),
      status: t.expose("status", { type: enums.RunStatus, description: "Where it stands." }),
      agent: t.field({
        type: "Agent",
        description: "What was run.",
        resolve: ({ agentId }, _, { loaders }) => loaders.agent(agentId),
      }),
      project: t.field({
        type: "Project",
        description: "The agent's project.",
        resolve: ({ projectId }, _, { loaders }) => loaders.project(projectId),
      }),
      version: t.exposeString("version", { description: "The agent's version; a run keeps it for life." }),
      input: t.field({
        type: "JSON",
        description: "The input object, with the form's defaults written in.",
        resolve: ({ id, input }, _, context) =>
          readPayload(context, input, { of: "run", id, column: "input" }) as JsonText | Promise<JsonText>,
      }),
      output: t.field({
        type: "JSON",
        nullable: true,
        description: "The result; null before it is completed.",
        resolve: ({ id, output }, _, context) => readPayload(context, output, { of: "run", id, column: "output" }),
      }),
      error: t.field({
        type: "RunError",
        nullable: true,
        description: "Why it failed.",
        resolve: ({ id, error }, _, context) => readError(context, error, { of: "run", id, column: "error" }),
      }),
      startedBy: t.expose("startedBy", { type: "RunStarter", description: "Who or what started it." }),
      createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was accepted." }),
      runAt: t.expose("runAt", {
        type: "DateTime",
        nullable: true,
        description: "When it is to begin, where a later time was asked for; `pending` until then.",
      }),
      startedAt: t.expose("startedAt", { type: "DateTime", nullable: true, description: "When it first ran." }),
      finishedAt: t.expose("finishedAt", {
        type: "DateTime",
        nullable: true,
        description: "When it got its final status.",
      }),
      cancelledAt: t.expose("cancelledAt", { type: "DateTime", nullable: true, description: "When it was cancelled." }),
      currentStep: t.exposeInt("currentStep", {
        nullable: true,
        description:
          "Number of the step being executed: the lowest running one, the approval's when paused, null before the start, the last one after the end.",
      }),
      progress: t.exposeInt("progress", { description: "0 to 100; never falls, and is 100 only when completed." }),
      revision: t.exposeInt("revision", { description: "Counts the committed changes of the run and its steps." }),
      approvals: t.field({
        type: "ApprovalConnection",
        extensions: PAGED,
        description: "The approvals it asked for, newest first.",
        args: pageArguments(builder),
        resolve: async ({ id }, page, context) => {
          const { organizationId } = callerWith(context, "runs:read");
          const request = pageRequest(page, (cursor) => decodeId("approval", cursor));
          return connectionOf(await listApprovals(context.runs, organizationId, { runId: id }, request), (one) =>
            encodeId("approval", one.id),
          );
        },
      }),
    }),
  });
}

export const runCursor = ({ id }: Run): string => encodeId("run", id);
export const runPage = (page: Parameters<typeof pageRequest>[0]) =>
  pageRequest(page, (cursor) => decodeId("run", cursor));

function addQueries(builder: Builder, filterType: RunFilterInput): void {
  builder.queryField("run", (t) =>
    t.field({
      type: "Run",
      nullable: true,
      description: "One run. NOT_FOUND when there is none of that id.",
      args: { id: t.arg.id({ description: "A TypeID, `run_…`." }) },
      resolve: (_, { id }, context) => findRun(context, id),
    }),
  );
  builder.queryField("runs", (t) =>
    t.field({
      type: "RunConnection",
      extensions: PAGED,
      description: "Runs, newest first.",
      args: {
        filter: t.arg({ type: filterType, required: false, description: "Which; all without it." }),
        ...pageArguments(builder),
      },
      resolve: async (_, { filter, ...page }, context) => {
        const { organizationId } = callerOf(context);
        const wanted = await checkedFilter(context, filter ?? {});
        return connectionOf(await listRuns(context.runs, organizationId, wanted, runPage(page)), runCursor);
      },
    }),
  );
}

export async function findRun(context: Context, id: string): Promise<Run> {
  const { organizationId } = callerOf(context);
  return found("run", await readRun(context.runs, organizationId, idOf("run", id)));
}
