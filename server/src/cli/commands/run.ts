import { Option, type Command } from "commander";
import { OperatorError } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { addApiOptions, openApi, type ApiOptions } from "../server/api.ts";
import { addCommand, type CommandLine } from "../line/command-line.ts";
import { findAgentId, inputFieldsOf } from "../server/find-agent.ts";
import { EXIT, followRun, printRun, sayQuestions } from "../watch/follow-run.ts";
import { readInput } from "../line/run-input.ts";
import { RUN_FIELDS, STEP_FIELDS, USAGE_FIELD, type ShownRun, type ShownStep } from "../watch/watch-run.ts";

type Options = ApiOptions & {
  json?: true;
  input?: string;
  inputFile?: string;
  project?: string;
  idempotencyKey?: string;
  wait?: number;
  watch?: true;
};

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
const START_AND_WAIT = `mutation ($input: RunAgentInput!) {
  runAgent(input: $input) { ${RUN_FIELDS} ${USAGE_FIELD} steps { ${STEP_FIELDS} ${USAGE_FIELD} } }
}`;

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
  const agentId = await findAgentId(api, name, options.project);
  const fields = await inputFieldsOf(api, agentId, pairs);
  const input = {
    agentId,
    input: await readInput(line, { text: options.input, file: options.inputFile, pairs }, fields),
    ...(version !== undefined && { version }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(wait !== undefined && { wait }),
  };
  const { runAgent: run } = await api.send<{ runAgent: StartedRun }>(wait === undefined ? START : START_AND_WAIT, {
    input,
  });
  if (watch) return followRun(line, api, run, options);
  if (options.json) line.terminal.printJson(run);
  else printRun(line, run);
  if (wait === undefined) return;
  line.exitCode = EXIT[run.status];
  if (run.status === "paused") await sayQuestions(line, api, run.id);
}
