/** The steps of a run and their attempts. */
import { badInput } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Page } from "../lib/page.ts";
import { listAttempts, listSteps } from "../runs/read.ts";
import { stepDuration, type Attempt, type Run, type Step } from "../runs/run.ts";
import type { Builder } from "./builder.ts";
import { addConnection, connectionOf, pageArguments, PAGED, pageRequest } from "./connection.ts";
import type { Context } from "./context.ts";
import type { Enums } from "./enums.ts";
import { readError, readPayload } from "./payloads.ts";
import { findRelative } from "./relatives.ts";

/** The steps that `runAgent` waited for, by the run of its answer: they need no statement of their own. */
const kept = new WeakMap<Run, Step[]>();

export function keepSteps(run: Run, steps: Step[] | undefined): Run {
  if (steps) kept.set(run, steps);
  return run;
}

export function addSteps(builder: Builder, enums: Enums): void {
  addAttempt(builder, enums);
  addStep(builder, enums);
  addConnection(builder, "Step");
  addStepsOfRun(builder);
}

/** Few steps are tried more often: without `first` the cost counts this many, and what there are beyond as they are read. */
const ATTEMPTS_COUNTED = { cost: { most: 3, argument: "first" } };
/** What an attempt has of fields, those of its error among them. */
const ATTEMPT_VALUES = 11;

function addAttempt(builder: Builder, enums: Enums): void {
  builder.objectType("Attempt", {
    description: "One try of a step.",
    fields: (t) => ({
      number: t.exposeInt("number", { description: "From 1." }),
      status: t.expose("status", { type: enums.StepStatus, description: "How it went." }),
      error: t.field({
        type: "RunError",
        nullable: true,
        description: "Why it failed.",
        resolve: ({ step: { runId: id, number }, number: attempt, error }, _, context) =>
          readError(context, error, { of: "attempt", id, number, attempt, column: "error" }, null),
      }),
      startedAt: t.expose("startedAt", { type: "DateTime", nullable: true, description: "When it began." }),
      finishedAt: t.expose("finishedAt", { type: "DateTime", nullable: true, description: "When it ended." }),
    }),
  });
}

function addStep(builder: Builder, enums: Enums): void {
  builder.objectType("Step", {
    description: "One execution of one task of the definition within a run.",
    fields: (t) => ({
      number: t.exposeInt("number", { description: "From 1, in the order reached." }),
      name: t.exposeString("name", { description: "The task's name in the definition." }),
      position: t.exposeString("key", {
        description:
          "Where in the run it stands, unique in it: its task behind the tasks around it, each `name#visit`, items by their number, like `loop#1/2/greet#1`.",
      }),
      kind: t.exposeString("kind", { description: "What the task is: `set`, `http`, `approval`, …" }),
      status: t.expose("status", { type: enums.StepStatus, description: "Where it stands." }),
      duration: t.int({
        nullable: true,
        description: "Milliseconds; null before the start, so far while running.",
        resolve: (step, _, { clock }) => stepDuration(step, clock.now()),
      }),
      attempts: t.field({
        type: ["Attempt"],
        extensions: ATTEMPTS_COUNTED,
        description: "Its tries, the first one first.",
        args: {
          first: t.arg.int({
            required: false,
            defaultValue: LIMITS.attemptsListed,
            description: `How many at most, 1 to ${LIMITS.attemptsPerStep}.`,
          }),
          after: t.arg.int({ required: false, description: "Only those behind this number." }),
        },
        resolve: async (step, { first, after }, { runs, size }): Promise<Attempt[]> => {
          const wanted = sizeOf(first ?? LIMITS.attemptsListed, LIMITS.attemptsPerStep);
          const attempts = await listAttempts(runs, step, { first: wanted, ...(after != null && { after }) });
          size.addValues(attempts.length * ATTEMPT_VALUES);
          return attempts;
        },
      }),
      error: t.field({
        type: "RunError",
        nullable: true,
        description: "Why it failed.",
        resolve: ({ runId: id, error, number }, _, context) =>
          readError(context, error, { of: "step", id, number, column: "error" }, number),
      }),
      child: t.field({
        type: "Run",
        nullable: true,
        description: "The run that it started.",
        resolve: ({ childId }, _, context) => childId && findRelative(context, childId),
      }),
      input: t.field({
        type: "JSON",
        nullable: true,
        description: "What the task was given.",
        resolve: ({ runId: id, number, input }, _, context) =>
          readPayload(context, input, { of: "step", id, number, column: "input" }),
      }),
      output: t.field({
        type: "JSON",
        nullable: true,
        description: "What the task gave.",
        resolve: ({ runId: id, number, output }, _, context) =>
          readPayload(context, output, { of: "step", id, number, column: "output" }),
      }),
      startedAt: t.expose("startedAt", { type: "DateTime", nullable: true, description: "When it began." }),
      finishedAt: t.expose("finishedAt", { type: "DateTime", nullable: true, description: "When it ended." }),
    }),
  });
}

function sizeOf(first: number, most: number): number {
  if (first >= 1 && first <= most) return first;
  const message = `must be between 1 and ${most}`;
  throw badInput(`first ${message}`, [{ path: "first", code: "out_of_range", message }]);
}

async function stepsOf({ runs }: Context, run: Run, first: number, after: number | undefined): Promise<Page<Step>> {
  const steps = kept.get(run);
  if (!steps) return listSteps(runs, run, after === undefined ? { first } : { first, after });
  const items = steps.filter(({ number }) => number > (after ?? 0));
  return { items: items.slice(0, first), hasNextPage: items.length > first };
}

function addStepsOfRun(builder: Builder): void {
  builder.objectField("Run", "steps", (t) =>
    t.field({
      type: ["Step"],
      extensions: { cost: { most: LIMITS.stepsListed, argument: "first" } },
      description: "Its steps in order.",
      args: {
        first: t.arg.int({
          required: false,
          defaultValue: LIMITS.stepsListed,
          description: `How many at most, 1 to ${LIMITS.stepsListed}.`,
        }),
        after: t.arg.int({ required: false, description: "Only those behind this number." }),
      },
      resolve: async (run, { first, after }, context) =>
        (await stepsOf(context, run, sizeOf(first ?? LIMITS.stepsListed, LIMITS.stepsListed), after ?? undefined))
          .items,
    }),
  );
  builder.objectField("Run", "stepsConnection", (t) =>
    t.field({
      type: "StepConnection",
      extensions: PAGED,
      description: "Its steps in order, by pages.",
      args: pageArguments(builder),
      resolve: async (run, page, context) => {
        const { first, after } = pageRequest(page, (cursor) => (/^[1-9]\d{0,5}$/.test(cursor) ? cursor : undefined));
        return connectionOf(
          await stepsOf(context, run, first, after === undefined ? undefined : Number(after)),
          ({ number }) => String(number),
        );
      },
    }),
  );
}
