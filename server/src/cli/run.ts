import { Option, type Command } from "commander";
import { OperatorError } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import { isFinal } from "../runs/states.ts";
import type { RunStatus } from "../storage/schema.ts";
import { addApiOptions, openApi, type Api, type ApiOptions } from "./api.ts";
import { addCommand, type CommandLine } from "./command-line.ts";
import { findAgent } from "./find-agent.ts";
import { readInput } from "./run-input.ts";
import { createStory, showEnd, showStatus, showStep } from "./show-run.ts";
import { plainText } from "./terminal.ts";
import { RUN_FIELDS, STEP_FIELDS, watchRun, type ShownEvent, type ShownRun, type ShownStep } from "./watch-run.ts";

type Options = ApiOptions & {
  json?: true;
  input?: string;
  inputFile?: string;
  project?: string;
  idempotencyKey?: string;
  wait?: number;
  watch?: true;
};

const EXIT = { completed: 0, failed: 1, cancelled: 1, paused: 3, running: 4, pending: 4 } as const satisfies Record<
  RunStatus,
  number
>;

export function addRun(program: Command, line: CommandLine): void {
  const run = addCommand(
    program,
    "run <agent> [key=value...]",
    "Start a run of an agent, by handle, project/handle or id.",
  )
    .option("--input <json>", "the input, a JSON object")
    .option("--input-file <file>", "the same from a file, or from stdin with -")
    .option("--project <project>", "handle or id, where two projects have an agent of that handle")
    .option("--version <version>", "run this version instead of the published one")
    .option(
      "--idempotency-key <key>",
      `the same key with the same input is the same run for ${LIMITS.idempotencyHours} h`,
    )
    .addOption(
      new Option("--wait <seconds>", `wait until it ends or pauses, ${LIMITS.waitSeconds} s at most`).argParser(
        secondsOf,
      ),
    )
    .option("--watch", "show its steps as they happen, until it ends");
  addApiOptions(run)
    .addHelpText("after", AFTER)
    .action((agent: string, pairs: string[], options: Options & { version?: string }) =>
      start(line, agent, pairs, options),
    );
}

const AFTER = `
Exit codes: 0 completed (or just started, without --wait and --watch), 1 failed, cancelled or refused;
with --wait also 3 paused for an approval and 4 still running. --watch goes on through a pause.
With --json --watch each line is an event of the subscription runEvents, the first one the accepted run.`;

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= LIMITS.waitSeconds) return seconds;
  throw new OperatorError(`--wait must be whole seconds from 1 to ${LIMITS.waitSeconds}; --watch waits without limit`);
}

const START = `mutation ($input: RunAgentInput!) { runAgent(input: $input) { ${RUN_FIELDS} } }`;
const START_AND_WAIT = `mutation ($input: RunAgentInput!) { runAgent(input: $input) { ${RUN_FIELDS} steps { ${STEP_FIELDS} } } }`;

type StartedRun = ShownRun & { steps?: ShownStep[] };

async function start(
  line: CommandLine,
  name: string,
  pairs: string[],
  options: Options & { version?: string },
): Promise<void> {
  const { version, idempotencyKey, wait, watch } = options;
  if (watch && wait !== undefined) throw new OperatorError("give --watch or --wait, not both");
  const api = openApi(line, options);
  const agent = await findAgent(api, name, options.project);
  const input = {
    agentId: agent.id,
    input: readInput({ text: options.input, file: options.inputFile, pairs }, agent.inputFields),
    ...(version !== undefined && { version }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(wait !== undefined && { wait }),
  };
  const { runAgent: run } = await api.send<{ runAgent: StartedRun }>(wait === undefined ? START : START_AND_WAIT, {
    input,
  });
  if (watch) return follow(line, api, run, options);
  if (options.json) line.terminal.printJson(run);
  else printStarted(line, run);
  if (wait === undefined) return;
  line.exitCode = EXIT[run.status];
  if (run.status === "paused") await sayQuestions(line, api, run.id);
}

const titleOf = ({ terminal }: CommandLine, run: ShownRun): string =>
  `${terminal.bold(run.id)} of ${run.agent.handle} ${run.version}`;

function printStarted(line: CommandLine, run: StartedRun): void {
  const { terminal } = line;
  terminal.print(titleOf(line, run));
  for (const step of run.steps ?? []) terminal.print(showStep(terminal, step));
  terminal.print(showEnd(terminal, run));
}

async function follow(line: CommandLine, api: Api, run: ShownRun, { json }: Options): Promise<void> {
  const { terminal } = line;
  if (json) terminal.printJson({ revision: 0, run, step: null } satisfies ShownEvent);
  else terminal.print(titleOf(line, run));
  const show = createStory(terminal);
  for await (const event of watchRun({
    api,
    runId: run.id,
    onLost: (reason) => terminal.say(`${reason}; trying to go on`),
  })) {
    if (json) terminal.printJson(event);
    else for (const text of show(event)) terminal.print(text);
    if (event.run?.status === "paused") await sayQuestions(line, api, run.id);
    if (event.run && isFinal(event.run.status)) line.exitCode = EXIT[event.run.status];
  }
}

const QUESTIONS = `query ($runId: ID!) { approvals(filter: {runId: $runId, status: open}, first: 10) { nodes { id question } } }`;

async function sayQuestions({ terminal }: CommandLine, api: Api, runId: string): Promise<void> {
  type Data = { approvals: { nodes: { id: string; question: string }[] } };
  const { approvals } = await api.send<Data>(QUESTIONS, { runId });
  for (const { id, question } of approvals.nodes) {
    terminal.say(
      `     ${showStatus(terminal, "paused")}: ${plainText(question)} (decide ${id} in the inbox or by decideApproval)`,
    );
  }
}
