import { Option, type Command } from "commander";
import { OperatorError } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { RunStatus } from "../../storage/schema.ts";
import { addApiOptions, openApi, type Api, type ApiOptions } from "../server/api.ts";
import { addCommand, idArgument, type CommandLine } from "../line/command-line.ts";
import { findAgentId } from "../server/find-agent.ts";
import { EXIT_HELP, followRun, printRun, sayQuestions, titleOf } from "../watch/follow-run.ts";
import { addFirst, minuteOf, MORE, printPage, type Page, type Table } from "../line/page.ts";
import { readInput } from "../line/run-input.ts";
import { showStatus } from "../watch/show-run.ts";
import { plainText } from "../line/terminal.ts";
import { RUN_FIELDS, STEP_FIELDS, USAGE_FIELD, type ShownRun, type ShownStep } from "../watch/watch-run.ts";

type Options = ApiOptions & { json?: true; watch?: true };
type ListOptions = Options & { first: number; agent?: string; status?: RunStatus[] };
type AgainOptions = Options & { idempotencyKey?: string };
type SignalOptions = AgainOptions & { data?: string; dataFile?: string };
type RetryOptions = AgainOptions & { fromStep?: number; fromTask?: string; version?: string };

/** The fields that every mutation returns to a key that may carry it out. */
type ChangedRun = Pick<ShownRun, "id" | "status" | "version" | "agent" | "createdAt">;
const CHANGED = "id status version agent { handle } createdAt finishedAt cancelledAt";
const STATUSES = ["pending", "running", "paused", "completed", "failed", "cancelled"] satisfies RunStatus[];
const MAX_STEPS = 1_000;

const LIST = `query ($filter: RunFilter, $first: Int!) {
  runs(filter: $filter, first: $first) { nodes { ${CHANGED} } ${MORE} }
}`;
const SHOW = `query ($id: ID!, $first: Int!) {
  run(id: $id) { ${RUN_FIELDS} ${USAGE_FIELD} input startedBy { kind id name } stepCount retryOf { id }
    steps(first: $first) { ${STEP_FIELDS} ${USAGE_FIELD} } }
}`;
const CANCEL = `mutation ($id: ID!) { changed: cancelRun(runId: $id) { ${CHANGED} } }`;
const SIGNAL = `mutation ($input: SignalRunInput!) { changed: signalRun(input: $input) { ${CHANGED} } }`;
const RETRY = `mutation ($input: RetryRunInput!) { changed: retryRun(input: $input) { ${CHANGED} } }`;
const RERUN = `mutation ($input: RerunRunInput!) { changed: rerunRun(input: $input) { ${CHANGED} } }`;

export function addRuns(program: Command, line: CommandLine): void {
  const runs = program
    .command("runs")
    .description("Runs: listed, shown, cancelled, repeated, through the server's API.");
  const id = idArgument("run", "runs list");
  addApiOptions(addFirst(addCommand(runs, "list", "Runs, newest first.")))
    .option("--agent <agent>", "only those of this agent: its handle, project/handle or id")
    .addOption(new Option("--status <status...>", "only those in one of these states").choices(STATUSES))
    .action((options: ListOptions) => list(line, options));
  addApiOptions(addCommand(runs, "show", "A run and its steps; what it asks when it is paused.").addArgument(id))
    .option("--watch", "show its steps as they happened and happen, until it ends")
    .addHelpText("after", `\n${EXIT_HELP}`)
    .action((runId: string, options: Options) => show(line, runId, options));
  addApiOptions(addCommand(runs, "cancel", "Cancel an open run.").addArgument(id)).action(
    (runId: string, options: Options) => change(line, options, CANCEL, { id: runId }),
  );
  addApiOptions(
    addCommand(runs, "signal", "Send an open run a signal, which a step that listens takes.")
      .addArgument(id)
      .argument("<name>", "the type of event that the step listens to"),
  )
    .option("--data <json>", "its data, as a JSON object")
    .option("--data-file <file>", "the same from a file; - is stdin")
    .option("--idempotency-key <key>", "with the same key again, nothing is sent")
    .action((runId: string, name: string, options: SignalOptions) => signal(line, runId, name, options));
  addAgain(addCommand(runs, "retry", "Start a new run that goes on where an ended one failed.").addArgument(id))
    .option("--from-step <number>", "the first step to execute again (the one that failed)", stepOf)
    .option("--from-task <name>", "the same by the name of its task")
    .option("--version <version>", "with this version instead of the run's")
    .action((runId: string, { fromStep, fromTask, version, ...options }: RetryOptions) =>
      again(line, options, RETRY, {
        runId,
        ...(fromStep !== undefined && { fromStep }),
        ...(fromTask !== undefined && { fromTask }),
        ...(version !== undefined && { version }),
      }),
    );
  addAgain(
    addCommand(runs, "rerun", "Start a new run from the beginning, with the same input.").addArgument(id),
  ).action((runId: string, options: AgainOptions) => again(line, options, RERUN, { runId }));
}

const addAgain = (command: Command): Command =>
  addApiOptions(command)
    .option("--idempotency-key <key>", `the same key is the same new run for ${LIMITS.idempotencyHours} h`)
    .option("--watch", "show the new run's steps as they happen, until it ends")
    .addHelpText("after", `\n${EXIT_HELP}`);

function stepOf(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new OperatorError("--from-step must be a step's number, as `autograph runs show` prints them");
}

const TABLE: Table<ChangedRun> = {
  head: ["id", "status", "created", "agent"],
  row: (run) => [run.id, run.status, minuteOf(run.createdAt), plainText(run.agent.handle)],
  none: "there are no such runs",
};

async function list(line: CommandLine, options: ListOptions): Promise<void> {
  const api = openApi(line, options);
  const filter = {
    ...(options.agent !== undefined && { agentId: await findAgentId(api, options.agent) }),
    ...(options.status && { status: options.status }),
  };
  const { runs } = await api.send<{ runs: Page<ChangedRun> }>(LIST, { filter, first: options.first });
  printPage(line, runs, TABLE, options);
}

async function show(line: CommandLine, id: string, options: Options): Promise<void> {
  const api = openApi(line, options);
  type Data = { run: ShownRun & { startedBy: { name: string }; stepCount: number; steps: ShownStep[] } };
  const { run } = await api.send<Data>(SHOW, { id, first: MAX_STEPS });
  if (options.watch) return followRun(line, api, run, options);
  if (options.json) return line.terminal.printJson(run);
  printRun(line, run, `${minuteOf(run.createdAt)} by ${plainText(run.startedBy.name)}`);
  if (run.stepCount > run.steps.length)
    line.terminal.say(`only the first ${run.steps.length} of ${run.stepCount} steps are shown`);
  if (run.status === "paused") await sayQuestions(line, api, id);
}

const again = (line: CommandLine, { idempotencyKey, ...options }: AgainOptions, mutation: string, input: object) =>
  change(line, options, mutation, { input: { ...input, ...(idempotencyKey !== undefined && { idempotencyKey }) } });

async function signal(
  line: CommandLine,
  runId: string,
  name: string,
  { data: text, dataFile: file, idempotencyKey, ...options }: SignalOptions,
): Promise<void> {
  if (text !== undefined && file !== undefined) throw new OperatorError("give --data or --data-file, not both");
  const data = await readInput(line, { text, file, pairs: [], option: "--data" }, []);
  const input = { runId, name, data, ...(idempotencyKey !== undefined && { idempotencyKey }) };
  await change(line, options, SIGNAL, { input });
}

async function change(line: CommandLine, options: Options, mutation: string, variables: object): Promise<void> {
  const api: Api = openApi(line, options);
  const { changed } = await api.send<{ changed: ChangedRun }>(mutation, variables);
  if (options.watch) return followRun(line, api, changed, options);
  if (options.json) return line.terminal.printJson(changed);
  line.terminal.print(`${titleOf(line, changed)}\n${showStatus(line.terminal, changed.status)}`);
}
