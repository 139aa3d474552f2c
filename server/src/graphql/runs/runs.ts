/** Reading and listing runs. */
import { encodeId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { JsonText } from "../../lib/json/json-text.ts";
import { listRuns } from "../../runs/read/list-runs.ts";
import { listApprovals } from "../../runs/read/list-approvals.ts";
import { readRun } from "../../runs/read/read.ts";
import type { Run } from "../../execution/run/run.ts";
import { requireFound, idOf } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, listById, pageArguments, PAGED } from "../builder/connection.ts";
import { callerOf, type Context } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";
import { readError, readPayload } from "../context/payloads.ts";
import { checkedFilter, type RunFilterInput } from "./run-filter.ts";

export function addRuns(builder: Builder, enums: Enums, filter: RunFilterInput): void {
  addRunError(builder);
  addRun(builder, enums);
  addConnection(builder, "Run");
  addQueries(builder, filter);
}

function addRunError(builder: Builder): void {
  builder.objectType("ErrorResponse", {
    description:
      "What an endpoint answered, as `$error.response` of a definition has it. Credentials and secrets are replaced by `[redacted]`.",
    fields: (t) => ({
      status: t.exposeInt("status", { scope: "inherited", description: "The HTTP status." }),
      headers: t.expose("headers", {
        scope: "inherited",
        type: "JSON",
        description: "The headers by their names in lower case. `set-cookie` is a list.",
      }),
      body: t.expose("body", {
        scope: "inherited",
        type: "JSON",
        nullable: true,
        description: `The body: parsed if it is JSON of at most ${LIMITS.errorBodyBytes} bytes, otherwise text, cut after that many bytes. Null if it is empty or not text.`,
      }),
    }),
  });
  builder.objectType("RunError", {
    description: "An error of a run, step or attempt, in the terms of the definition language (RFC 7807).",
    fields: (t) => ({
      type: t.exposeString("type", {
        scope: "inherited",
        description: "A URI. Its last segment is the kind of error, such as `timeout`.",
      }),
      status: t.exposeInt("status", { scope: "inherited", description: "The HTTP status that fits the error." }),
      title: t.exposeString("title", {
        scope: "inherited",
        nullable: true,
        description: "A sentence about this kind of error.",
      }),
      detail: t.exposeString("detail", {
        scope: "inherited",
        nullable: true,
        description: "What happened, as a sentence.",
      }),
      instance: t.exposeString("instance", {
        scope: "inherited",
        nullable: true,
        description: "JSON pointer to the task that raised the error.",
      }),
      stepNumber: t.exposeInt("stepNumber", {
        scope: "inherited",
        nullable: true,
        description: "Number of the step that raised the error.",
      }),
      response: t.expose("response", {
        scope: "inherited",
        type: "ErrorResponse",
        nullable: true,
        description:
          "The endpoint's response, if the error is about one. Null in an attempt that was followed by another: see `Attempt.response`.",
      }),
    }),
  });
}

function addRun(builder: Builder, enums: Enums): void {
  builder.objectType("Run", {
    description: "A run: one execution of a version of an agent with an input.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({ scope: "inherited", resolve: ({ id }) => encodeId("run", id), description: "The run's id, `run_…`." }),
      status: t.expose("status", { scope: "inherited", type: enums.RunStatus, description: "Current status." }),
      agent: t.field({
        scope: "inherited",
        type: "Agent",
        description: "The agent.",
        resolve: ({ agentId }, _, { loaders }) => loaders.agent(agentId),
      }),
      project: t.field({
        scope: "inherited",
        type: "Project",
        description: "The agent's project.",
        resolve: ({ projectId }, _, { loaders }) => loaders.project(projectId),
      }),
      version: t.exposeString("version", {
        scope: "inherited",
        description: "The version of the agent that the run executes. It never changes.",
      }),
      input: t.field({
        scope: "runs:read",
        type: "JSON",
        description: "The input, with the form's defaults filled in.",
        resolve: ({ id, input }, _, context) =>
          readPayload(context, input, { of: "run", id, column: "input" }) as JsonText | Promise<JsonText>,
      }),
      output: t.field({
        scope: "runs:read",
        type: "JSON",
        nullable: true,
        description: "The output. Null until the run is completed.",
        resolve: ({ id, output }, _, context) => readPayload(context, output, { of: "run", id, column: "output" }),
      }),
      error: t.field({
        scope: "runs:read",
        type: "RunError",
        nullable: true,
        description: "Why the run failed. Null if it did not.",
        resolve: ({ id, error }, _, context) => readError(context, error, { of: "run", id, column: "error" }),
      }),
      draftText: t.field({
        scope: "runs:read",
        type: "String",
        nullable: true,
        description: "The sentence that the input was read from, if the run was started with a `runDraftId`.",
        resolve: ({ id }, _, { loaders }) => loaders.draftText(id),
      }),
      startedBy: t.expose("startedBy", {
        scope: "inherited",
        type: "Actor",
        description: "Who or what started the run.",
      }),
      createdAt: t.expose("createdAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the run was accepted.",
      }),
      runAt: t.expose("runAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When the run was asked to begin; it is `pending` until then. Null if it was to begin at once.",
      }),
      startedAt: t.expose("startedAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When the run began to execute.",
      }),
      finishedAt: t.expose("finishedAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When the run reached its final status.",
      }),
      cancelledAt: t.expose("cancelledAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When the run was cancelled.",
      }),
      currentStep: t.exposeInt("currentStep", {
        scope: "inherited",
        nullable: true,
        description:
          "Number of the step that is being executed: the lowest that is running, or the approval's while the run is paused. Null before the start, the last step after the end.",
      }),
      progress: t.exposeInt("progress", {
        scope: "inherited",
        description: "Progress in percent. It never falls, and is 100 only when the run is completed.",
      }),
      revision: t.exposeInt("revision", {
        scope: "inherited",
        description: "How many changes to the run and its steps were committed.",
      }),
      approvals: t.field({
        scope: "runs:read",
        type: "ApprovalConnection",
        extensions: PAGED,
        description: "The run's approvals, newest first.",
        args: pageArguments(builder),
        resolve: ({ id }, page, context) =>
          connect(listById("approvals", "approval", id), page, (request) =>
            listApprovals(context.runs, callerOf(context), { runId: [id] }, request),
          ),
      }),
    }),
  });
}

const RUNS = listById("runs", "run");

function addQueries(builder: Builder, filterType: RunFilterInput): void {
  builder.queryField("run", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "Run",
      nullable: true,
      description: "The run with this id. NOT_FOUND if there is none.",
      args: { id: t.arg.id({ description: "The run's id." }) },
      resolve: (_, { id }, context) => findRun(context, id),
    }),
  );
  builder.queryField("runs", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "RunConnection",
      extensions: PAGED,
      description: "The organization's runs, newest first.",
      args: {
        filter: t.arg({ type: filterType, required: false, description: "Default: all." }),
        ...pageArguments(builder),
      },
      resolve: async (_, { filter, ...page }, context) => {
        const wanted = await checkedFilter(context, filter ?? {}, "filter");
        return connect(RUNS, page, (request) => listRuns(context.runs, callerOf(context), wanted, request));
      },
    }),
  );
}

export async function findRun(context: Context, id: string): Promise<Run> {
  return requireFound("run", await readRun(context.runs, callerOf(context), idOf("run", id)));
}
