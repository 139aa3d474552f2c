/**
 * Kinds of task that the product does not have yet: a conversation of several effects, one of them streaming,
 * with a question to a person in the middle; and a wait for an event. They are written like any kind, in a table of kinds
 * that the real interpreter walks with a real journal.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import { compileWorkflow, type Program } from "../definition/program.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { createAdvance } from "../execution/advance.ts";
import { askPerson } from "../execution/ask-person.ts";
import { performEffect } from "../execution/effect.ts";
import { complete, type Frame } from "../execution/frame.ts";
import type { Result } from "../execution/scope.ts";
import { ownSteps } from "../execution/steps.ts";
import { newId, type ApprovalId, type RunId } from "../lib/ids.ts";
import type { Json } from "../lib/json/json.ts";
import type { Database } from "../storage/database.ts";
import { decideApproval } from "./decide-approval.ts";
import { listAttempts, listSteps, readWholeRun } from "./read/read.ts";
import { retryRun } from "./retry-run.ts";
import { openRuns, type TestRuns } from "./runs.testsuite.ts";
import { startRun } from "./start-run.ts";
import { wakeRun } from "./wake-run.ts";

type Request = { of: string; about: Json };
type Sent = Request & { key: string };

/** The outside world of this file's kinds. */
let sent: Sent[] = [];
let told: string[] = [];
/** Called before each step of a conversation, and during each of its effects. */
let before: (name: string) => void = () => {};
let during: (request: Request, signal: AbortSignal) => Promise<unknown> = async () => {};
const events = new Map<string, Json>();

const call = (of: string, about: Json) => (frame: Frame) =>
  performEffect(frame, {
    prepare: async () => ({ of, about }),
    async perform(request, { idempotencyKey, signal }) {
      sent.push({ of, about: request["about"]!, key: idempotencyKey });
      await during({ of, about: request["about"]! }, signal);
      // The stream is reported as it arrives; the row has all of it.
      if (of === "model") for (const part of ["so ", "be ", "it"]) told.push(`${frame.step.number}: ${part}`);
      return of === "model" ? "so be it" : { found: 7 };
    },
  });

/** The outputs of a task's own steps; an error is thrown. */
function outputsOf(frame: Frame) {
  const step = ownSteps(frame);
  return async (...[what, work]: Parameters<typeof step>): Promise<Json> => {
    const outcome = await step(what, work);
    if (outcome.error) throw outcome.error;
    return outcome.output;
  };
}

async function converse(frame: Frame): Promise<Result> {
  const step = outputsOf(frame);
  const next: typeof step = (what, work) => {
    before(what.name);
    return step(what, work);
  };
  const wish = await next({ name: "think", kind: "model" }, call("model", frame.input));
  const found = await next({ name: "look", kind: "tool" }, call("tool", wish));
  const decision = await next({ name: "ask", kind: "approval" }, (inner) =>
    askPerson(inner, () => ({ question: "May it be said?", context: found })),
  );
  const { approved } = decision as { approved: boolean };
  return complete(frame, await next({ name: "think", kind: "model" }, call("model", [found, approved])));
}

/** Goes on without what could not be found. */
async function manage(frame: Frame): Promise<Result> {
  const step = outputsOf(frame);
  let found: Json = "nothing";
  try {
    found = await step({ name: "look", kind: "tool" }, call("tool", frame.input));
  } catch (error) {
    if (!(error instanceof WorkflowError)) throw error;
  }
  return complete(frame, await step({ name: "think", kind: "model" }, call("model", found)));
}

async function hear(frame: Frame): Promise<Result> {
  const { execution, step, scope } = frame;
  const state = step.state as { event?: RunId };
  state.event ??= newId();
  execution.journal.touch(step);
  while (!events.has(state.event)) {
    await execution.waitForSignal(state.event, { until: null, person: false }, scope);
  }
  return complete(frame, events.get(state.event)!);
}

/** Maps task names to these kinds. */
const compile = (workflow: Parameters<typeof compileWorkflow>[0]): Program => {
  const program = compileWorkflow(workflow);
  for (const task of program.block.tasks) {
    if (!["converse", "manage", "hear"].includes(task.name)) continue;
    task.kind = task.name;
    task.body = { is: task.name, blocks: {} } as never;
  }
  return program;
};

let databases: Databases;
let database: Database;
let opened: TestRuns;
beforeAll(async () => {
  databases = await startDatabases();
  database = await databases.open();
  opened = await openRuns(database, { compile, tasks: { converse, manage, hear } });
  return async () => {
    await opened[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  };
});
afterAll(() => databases[Symbol.asyncDispose]());

const start = async (name: string): Promise<RunId> => {
  [sent, told, before, during] = [[], [], () => {}, async () => {}];
  const agentId = await opened.agentOf(`do: [{${name}: {set: {a: 1}}}, {after: {set: '\${ {heard: .} }'}}]`);
  return (await startRun(opened.runs, opened.caller, { agentId, input: { wish: 1 } })).run.id;
};

const whole = async (id: RunId) => (await readWholeRun(opened.runs, opened.caller, id))!.run;
const rowsOf = async (id: RunId) => {
  const { organizationId } = opened.caller;
  return (await listSteps(opened.runs, { id, organizationId }, { first: 100 })).items;
};
const stepsOf = async (id: RunId): Promise<string[]> =>
  (await rowsOf(id)).map(({ number, key, kind, status, attempt }) => `${number} ${key} ${kind} ${status} ${attempt}`);
const hasStatus = (id: RunId, status: string): Promise<unknown> =>
  eventually(async () => (await whole(id)).status === status);

async function decide(id: RunId): Promise<void> {
  const [row] = await database.query("select id from approvals where run_id = $1 and status = 'open'", [id]);
  await decideApproval(opened.runs, opened.caller, { approvalId: row!["id"] as ApprovalId, decision: "approve" });
}

const DONE = [
  "1 converse#1 converse completed 1",
  "2 converse#1/steps/think#1 model completed 1",
  "3 converse#1/steps/look#1 tool completed 1",
  "4 converse#1/steps/ask#1 approval completed 1",
  "5 converse#1/steps/think#2 model completed 1",
  "6 after#1 set completed 1",
];
const CALLS: Request[] = [
  { of: "model", about: { wish: 1 } },
  { of: "tool", about: "so be it" },
  { of: "model", about: [{ found: 7 }, true] },
];
const calls = (): Request[] => sent.map(({ of, about }) => ({ of, about }));

test("a wait for an event: the run leaves the memory, and the event's payload is the output", async () => {
  const id = await start("hear");
  const state = async () =>
    (await database.query("select state->>'event' as event from steps where run_id = $1", [id]))[0];
  await eventually(async () => (await state())?.["event"] && !opened.runs.executions.loaded.has(id));
  const event = (await state())!["event"] as RunId;
  events.set(event, { paid: 12 });
  await wakeRun(opened.runs, opened.caller.organizationId, id, event);
  await hasStatus(id, "completed");
  expect(await stepsOf(id)).toEqual(["1 hear#1 hear completed 1", "2 after#1 set completed 1"]);
  expect((await whole(id)).output).toEqual({ heard: { paid: 12 } });
});

test("a conversation in one go: each part of it is a step, the run is paused for the person, what streams is told", async () => {
  const id = await start("converse");
  await hasStatus(id, "paused");
  expect((await whole(id)).currentStep).toBe(4);
  await decide(id);
  await hasStatus(id, "completed");
  expect(await stepsOf(id)).toEqual(DONE);
  expect(calls()).toEqual(CALLS);
  expect(new Set(sent.map(({ key }) => key)).size).toBe(3);
  expect(told).toEqual(["2: so ", "2: be ", "2: it", "5: so ", "5: be ", "5: it"]);
  expect((await whole(id)).output).toEqual({ heard: "so be it" });
});

test("a part that fails ends the run; a retry keeps the parts before it", async () => {
  const id = await start("converse");
  await hasStatus(id, "paused");
  during = async () => {
    throw WorkflowError.of("communication", "the model is away");
  };
  await decide(id);
  await hasStatus(id, "failed");
  expect((await whole(id)).error).toMatchObject({
    detail: "the model is away",
    stepNumber: 5,
    instance: "/do/0/converse",
  });
  during = async () => {};
  const { id: again } = await retryRun(opened.runs, opened.caller, { runId: id });
  await hasStatus(again, "completed");
  expect(await stepsOf(again)).toEqual(DONE);
  expect(calls()).toEqual([...CALLS, CALLS[2]]);
});

/** Only the test advances a run. */
async function byHand(id: RunId, signal = new AbortController().signal): Promise<string> {
  const { runs, caller, claims } = opened;
  const { organizationId } = caller;
  runs.executions.draining = false;
  const advance = createAdvance(runs.executions);
  const claim = () => claims.add({ id, organizationId });
  return (await advance({ runId: id, organizationId, signal, throws: 0, claim })).kind;
}

test("stopped before each of its parts, and within each of its calls: what is over is not done again", async () => {
  await opened.runs.engine[Symbol.asyncDispose]();

  // Between two steps the run is unloaded.
  const left = await start("converse");
  const parts = ["think", "look", "ask", "think"];
  let reached = 0;
  let passed = 0;
  before = () => {
    if (reached++ === passed && passed < parts.length) {
      passed++;
      opened.runs.executions.draining = true;
    }
  };
  const outcomes: string[] = [];
  while (!["done", "lost"].includes(outcomes.at(-1) ?? "")) {
    reached = 0;
    outcomes.push(await byHand(left));
    if (outcomes.at(-1) === "waiting") await decide(left);
  }
  expect(outcomes).toEqual(["yield", "yield", "yield", "waiting", "yield", "done"]);
  expect(calls()).toEqual(CALLS);
  expect(await stepsOf(left)).toEqual(DONE);

  // The process ends during a call: that call is repeated with the same key, and nothing else is.
  const cut = await start("converse");
  const ended: string[] = [];
  for (let controller = new AbortController(); ended.at(-1) !== "done"; controller = new AbortController()) {
    during = async (request) => {
      const isFirst =
        calls().filter(({ about }) => JSON.stringify(about) === JSON.stringify(request.about)).length === 1;
      if (!isFirst) return;
      controller.abort(new Error("the process ends"));
      controller.signal.throwIfAborted();
    };
    ended.push(await byHand(cut, controller.signal));
    if (ended.at(-1) === "waiting") await decide(cut);
  }
  expect(ended).toEqual(["lost", "lost", "waiting", "lost", "done"]);
  expect(calls()).toEqual(CALLS.flatMap((one) => [one, one]));
  expect(sent.map(({ key }) => key).filter((key, index, keys) => key === keys[index + 1])).toHaveLength(3);
  expect(await stepsOf(cut)).toEqual(DONE.map((row) => row.replace(/(model|tool) completed 1/, "$1 completed 2")));
  const [, think] = await rowsOf(cut);
  expect((await listAttempts(opened.runs, think!, { first: 10 })).map(({ status }) => status)).toEqual([
    "failed",
    "completed",
  ]);
});

test("nor is a part that failed, where the task goes on without it", async () => {
  await opened.runs.engine[Symbol.asyncDispose]();
  const id = await start("manage");
  const controller = new AbortController();
  during = async ({ of }) => {
    if (of === "tool") throw WorkflowError.of("communication", "the tool is away");
    if (sent.length > 2) return;
    controller.abort(new Error("the process ends"));
    controller.signal.throwIfAborted();
  };
  expect([await byHand(id, controller.signal), await byHand(id)]).toEqual(["lost", "done"]);
  expect(calls().map(({ of, about }) => [of, about])).toEqual([
    ["tool", { wish: 1 }],
    ["model", "nothing"],
    ["model", "nothing"],
  ]);
});
