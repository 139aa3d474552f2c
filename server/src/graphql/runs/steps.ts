/** The steps of a run and their attempts. */
import { notFound } from "../../lib/errors.ts";
import { decodeStepId, encodeStepId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Page } from "../../lib/page.ts";
import { countAttempts, countListed, isAmong, listAttempts, readStep, type StepFilter } from "../../runs/read/read.ts";
import { nameOfCall } from "../../runs/read/step-names.ts";
import type { PayloadKey } from "../../runs/read/read-payloads.ts";
import { itemOf, visitOf } from "../../execution/journal/step-keys.ts";
import { sizeOf } from "../context/arguments.ts";
import { stepDuration, type Attempt, type HttpResponse, type Run, type Step } from "../../execution/run/run.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, pageArguments, PAGED } from "../builder/connection.ts";
import { callerOf, type Context } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";
import type { List } from "../builder/objects.ts";
import { readError, readPayload } from "../context/payloads.ts";
import { findRelative } from "../context/find-relative.ts";

/** The steps that `runAgent` waited for, by the run of its answer: they need no extra statement. */
const kept = new WeakMap<Run, Step[]>();

export function keepSteps(run: Run, steps: Step[] | undefined): Run {
  if (steps) kept.set(run, steps);
  return run;
}

export function addSteps(builder: Builder, enums: Enums): void {
  addAttempt(builder, enums);
  addStep(builder, enums);
  addConnection(builder, "Step");
  addStepsOfRun(builder, enums);
}

/** Few steps are attempted more often. Without `first` the cost counts this many; further ones count as they are read. */
const ATTEMPTS_COUNTED = { cost: { most: 3, argument: "first" } };
/** How many fields an attempt has, including those of its error and its response. */
const ATTEMPT_VALUES = 18;

function addAttempt(builder: Builder, enums: Enums): void {
  builder.objectType("HttpResponse", {
    description: "The response of an HTTP endpoint to one attempt.",
    fields: (t) => ({
      status: t.exposeInt("status", { scope: "inherited", description: "The HTTP status." }),
      body: t.exposeString("body", {
        scope: "inherited",
        nullable: true,
        description: `The body as text, cut after ${LIMITS.responseBodyBytes} bytes. Null if the body is not text. Credentials of the call are replaced by \`[redacted]\`.`,
      }),
    }),
  });
  builder.objectType("Attempt", {
    description: "An attempt to execute a step.",
    fields: (t) => ({
      number: t.exposeInt("number", { scope: "inherited", description: "Number of the attempt, from 1." }),
      status: t.expose("status", { scope: "inherited", type: enums.StepStatus, description: "Current status." }),
      error: t.field({
        scope: "inherited",
        type: "RunError",
        nullable: true,
        description: "Why it failed. Null if it did not.",
        resolve: (attempt, _, context) => readError(context, attempt.error, errorKeyOf(attempt)),
      }),
      response: t.field({
        scope: "inherited",
        type: "HttpResponse",
        nullable: true,
        description:
          "The endpoint's response to an HTTP call. Null if there was none, or if the step is of another kind.",
        resolve: async (attempt, _, context) => {
          const text = await readPayload(context, attempt.response, responseKeyOf(attempt));
          return text && (text.value as HttpResponse);
        },
      }),
      startedAt: t.expose("startedAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When it began. Null before the start.",
      }),
      finishedAt: t.expose("finishedAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When it ended. Null while it is open.",
      }),
    }),
  });
}

/** The newest attempt's is in the step's row. */
function errorKeyOf({ step: { runId: id, number }, number: attempt, errorIn }: Attempt): PayloadKey {
  if (errorIn === "attempt") return { of: "attempt", id, number, attempt, column: "error" };
  return { of: "step", id, number, column: errorIn === "caught" ? "caught" : "error" };
}

function responseKeyOf({ step: { runId: id, number }, number: attempt, responseIn }: Attempt): PayloadKey {
  if (responseIn === "attempt") return { of: "attempt", id, number, attempt, column: "response" };
  return { of: "step", id, number, column: "response" };
}

function addStep(builder: Builder, enums: Enums): void {
  builder.objectType("Step", {
    description: "A step: one execution of a task of the definition within a run.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({ scope: "inherited", resolve: encodeStepId, description: "The step's id, `step_…`." }),
      number: t.exposeInt("number", {
        scope: "inherited",
        description: "Number of the step, from 1, in the order in which steps were reached.",
      }),
      name: t.exposeString("name", { scope: "inherited", description: "The name of the task in the definition." }),
      position: t.exposeString("key", {
        scope: "inherited",
        description:
          "The step's place in the run, unique within it: the enclosing tasks and then its own, each as `name#visit`, and items by number, like `loop#1/2/greet#1`.",
      }),
      parentNumber: t.exposeInt("parentNumber", {
        scope: "inherited",
        nullable: true,
        description: "Number of the step that encloses it: the loop, the fork, the `try`. Null at the top level.",
      }),
      item: t.int({
        scope: "inherited",
        nullable: true,
        description: "Number of the item that it is executed for, from 1, if the step that encloses it is a loop.",
        resolve: ({ key }) => itemOf(key),
      }),
      visit: t.int({
        scope: "inherited",
        description:
          "Which visit of the task this is, from 1. A task is visited more than once when the run goes back to it.",
        resolve: ({ key }) => visitOf(key),
      }),
      kind: t.exposeString("kind", {
        scope: "inherited",
        description: "The kind of task, such as `set`, `http` or `approval`. New kinds may be added.",
      }),
      status: t.expose("status", { scope: "inherited", type: enums.StepStatus, description: "Current status." }),
      duration: t.int({
        scope: "inherited",
        nullable: true,
        description: "Duration in milliseconds: so far while the step is running, null before the start.",
        resolve: (step, _, { clock }) => stepDuration(step, clock.now()),
      }),
      attemptCount: t.int({
        scope: "inherited",
        description: "How many attempts there have been in all.",
        resolve: countAttempts,
      }),
      attempts: t.field({
        scope: "inherited",
        type: ["Attempt"],
        extensions: ATTEMPTS_COUNTED,
        description: "The step's attempts, oldest first.",
        args: {
          first: t.arg.int({
            required: false,
            defaultValue: LIMITS.attemptsListed,
            description: `Return at most this many, from 1 to ${LIMITS.attemptsPerStep}.`,
          }),
          after: t.arg.int({ required: false, description: "Return attempts after this number." }),
        },
        resolve: (step, { first, after }, { runs, size }): Promise<Attempt[]> => {
          const wanted = sizeOf(first ?? LIMITS.attemptsListed, LIMITS.attemptsPerStep);
          const page = { first: wanted, ...(after != null && { after }) };
          // Before they are read: the attempts of 25 steps may be 25,000.
          size.addValues(countListed(step, page) * ATTEMPT_VALUES);
          return listAttempts(runs, step, page);
        },
      }),
      error: t.field({
        scope: "inherited",
        type: "RunError",
        nullable: true,
        description: "Why it failed. Null if it did not.",
        resolve: ({ runId: id, error, number }, _, context) =>
          readError(context, error, { of: "step", id, number, column: "error" }),
      }),
      caught: t.field({
        scope: "inherited",
        type: "RunError",
        nullable: true,
        description:
          "The error that the `catch` of this `try` handled, after any retries. The last attempt failed with it. The error's `instance` and number name the task and the step that raised it.",
        resolve: ({ runId: id, caught, number }, _, context) =>
          readError(context, caught, { of: "step", id, number, column: "caught" }),
      }),
      callName: t.string({
        scope: "inherited",
        nullable: true,
        description:
          "If the step is a `try` around one call alone: the call's name in the definition. The call runs in this step, and its tries are the step's attempts.",
        resolve: ({ call }) => nameOfCall(call),
      }),
      callPath: t.exposeString("call", {
        scope: "inherited",
        nullable: true,
        description: "JSON pointer to the call that runs in this step, if the step is a `try` around one call alone.",
      }),
      child: t.field({
        scope: "runs:read",
        type: "Run",
        nullable: true,
        description: "The run that the step started.",
        resolve: ({ childId }, _, context) => childId && findRelative(context, childId),
      }),
      approval: t.field({
        scope: "runs:read",
        type: "Approval",
        nullable: true,
        description: "The step's approval. If the step was tried again, the newest one.",
        resolve: ({ approvalId }, _, { loaders }) => approvalId && loaders.approval(approvalId),
      }),
      input: t.field({
        scope: "inherited",
        type: "JSON",
        nullable: true,
        description: "The input of the task.",
        resolve: ({ runId: id, number, input }, _, context) =>
          readPayload(context, input, { of: "step", id, number, column: "input" }),
      }),
      output: t.field({
        scope: "inherited",
        type: "JSON",
        nullable: true,
        description: "The output of the task.",
        resolve: ({ runId: id, number, output }, _, context) =>
          readPayload(context, output, { of: "step", id, number, column: "output" }),
      }),
      log: t.string({
        scope: "inherited",
        nullable: true,
        description: `What a script has written with \`console.log\`, cut after ${LIMITS.scriptLogLines} lines and ${LIMITS.scriptLogBytes} bytes. Null if it is nothing, or if the step is of another kind.`,
        resolve: async ({ runId: id, number, log }, _, context) => {
          const text = await readPayload(context, log, { of: "step", id, number, column: "log" });
          return text && (text.value as string);
        },
      }),
      startedAt: t.expose("startedAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When it began. Null before the start.",
      }),
      finishedAt: t.expose("finishedAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When it ended. Null while it is open.",
      }),
    }),
  });
}

type FilterArguments = { [Name in keyof StepFilter]?: StepFilter[Name] | null | undefined };

/** A promise only where they have to be read: after a wait for the run they are here. */
function stepsOf(
  { loaders }: Context,
  run: Run,
  { parentNumber, status }: FilterArguments,
  { first, after = 0 }: { first: number; after?: number },
): Page<Step> | Promise<Page<Step>> {
  const filter: StepFilter = {};
  if (parentNumber != null) filter.parentNumber = parentNumber;
  if (status) filter.status = status;
  const steps = kept.get(run);
  if (!steps) return loaders.steps({ runId: run.id, page: { first, after }, filter });
  const items = steps.filter((step) => step.number > after && isAmong(step, filter));
  return { items: items.slice(0, first), hasNextPage: items.length > first };
}

export async function findStep(context: Context, id: string): Promise<Step> {
  const wanted = decodeStepId(id);
  const step = wanted && (await readStep(context.runs, callerOf(context), wanted));
  if (!step) throw notFound("Step");
  return step;
}

const stepList = ({ id }: Run): List<Step> => ({
  name: `steps ${id}`,
  write: ({ number }) => String(number),
  read: (number) => (/^[1-9]\d{0,5}$/.test(number) ? number : undefined),
});

const filterArguments = (builder: Builder, enums: Enums) =>
  builder.args((t) => ({
    parentNumber: t.int({
      required: false,
      description: "Return only steps directly inside the step with this number; 0 stands for the top level.",
    }),
    status: t.field({
      type: [enums.StepStatus],
      required: false,
      description: "Return only steps with one of these statuses.",
    }),
  }));

function addStepsOfRun(builder: Builder, enums: Enums): void {
  builder.objectField("Run", "steps", (t) =>
    t.field({
      scope: "runs:read",
      type: ["Step"],
      extensions: { cost: { most: LIMITS.stepsListed, argument: "first" } },
      description: "The run's steps, in the order in which they were reached.",
      args: {
        first: t.arg.int({
          required: false,
          defaultValue: LIMITS.stepsListed,
          description: `Return at most this many, from 1 to ${LIMITS.stepsListed}.`,
        }),
        after: t.arg.int({ required: false, description: "Return steps after this number." }),
        ...filterArguments(builder, enums),
      },
      resolve: (run, { first, after, parentNumber, status }, context) => {
        const size = sizeOf(first ?? LIMITS.stepsListed, LIMITS.stepsListed);
        const page = stepsOf(context, run, { parentNumber, status }, { first: size, after: after ?? 0 });
        return page instanceof Promise ? page.then(({ items }) => items) : page.items;
      },
    }),
  );
  builder.objectField("Run", "stepsConnection", (t) =>
    t.field({
      scope: "runs:read",
      type: "StepConnection",
      extensions: PAGED,
      description: "The run's steps in pages, in the order in which they were reached.",
      args: { ...pageArguments(builder), ...filterArguments(builder, enums) },
      resolve: (run, { parentNumber, status, ...page }, context) =>
        connect(stepList(run), page, async ({ first, after = "0" }) =>
          stepsOf(context, run, { parentNumber, status }, { first, after: Number(after) }),
        ),
    }),
  );
}
