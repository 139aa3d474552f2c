/** A run as lines, now or until it ends, and the exit code that says how it ended. */
import { isFinal } from "../../execution/run/states.ts";
import { OperatorError } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Json } from "../../lib/json/json.ts";
import type { RunStatus } from "../../storage/schema.ts";
import type { Api } from "../server/api.ts";
import type { CommandLine } from "../line/command-line.ts";
import { createLiveTexts } from "./live-texts.ts";
import { createStory, showEnd, showStatus, showStep } from "./show-run.ts";
import { plainJson, plainText } from "../line/terminal.ts";
import { USAGE_FIELD, watchRun, type ShownEvent, type ShownRun, type ShownStep } from "./watch-run.ts";

export const EXIT = {
  completed: 0,
  failed: 1,
  cancelled: 1,
  paused: 3,
  running: 4,
  pending: 4,
} as const satisfies Record<RunStatus, number>;

export const EXIT_HELP =
  "Exit codes with --watch: 0 completed, 1 failed, cancelled or refused. It goes on through a pause.";

type Titled = Pick<ShownRun, "id" | "version" | "agent">;

export const titleOf = ({ terminal }: CommandLine, run: Titled): string =>
  `${terminal.bold(run.id)} of ${plainText(run.agent.handle)} ${plainText(run.version)}`;

/** `origin`: when and by whom it was started. */
export function printRun(line: CommandLine, run: ShownRun & { steps?: ShownStep[] }, origin?: string): void {
  const { terminal } = line;
  terminal.print(titleOf(line, run));
  if (origin !== undefined) terminal.print(origin);
  for (const step of run.steps ?? []) terminal.print(showStep(terminal, step));
  terminal.print(showEnd(terminal, run));
}

/** Shows the run until it ends, and sets the exit code. With `json` one event a line, the run as it was first. */
export async function followRun(line: CommandLine, api: Api, run: Titled, { json }: { json?: true }): Promise<void> {
  const { terminal } = line;
  if (json) terminal.printJson({ revision: 0, run, step: null });
  else terminal.print(titleOf(line, run));
  const show = createStory(terminal);
  using texts = createLiveTexts(terminal);
  const onLost = (reason: string): void => terminal.say(`${reason}; trying to go on`);
  for await (const event of watchRun({ api, runId: run.id, withTexts: !json, onLost })) {
    texts.take(event);
    if (json) terminal.printJson(event satisfies ShownEvent);
    else for (const text of show(await withUsage(api, event))) terminal.print(text);
    if (event.run?.status === "paused") await sayQuestions(line, api, run.id);
    if (event.run && isFinal(event.run.status)) line.exitCode = EXIT[event.run.status];
  }
}

/** Adds what the run used to the event of its end, which is told in any case. */
async function withUsage(api: Api, event: ShownEvent): Promise<ShownEvent> {
  const { run } = event;
  if (!run || !isFinal(run.status)) return event;
  try {
    const read = await api.send<{ run: Pick<ShownRun, "usage"> }>(RUN_USAGE, { id: run.id });
    return { ...event, run: { ...run, ...read.run } };
  } catch (error) {
    if (error instanceof OperatorError) return event;
    throw error;
  }
}

const RUN_USAGE = `query ($id: ID!) { run(id: $id) { ${USAGE_FIELD} } }`;
const QUESTIONS = `query ($filter: ApprovalFilter!, $first: Int!) {
  approvals(filter: $filter, first: $first) { nodes { id question toolCall { arguments } } }
}`;

type Asked = { id: string; question: string; toolCall: { arguments: Json } | null };

/** Longer arguments are shown by `approvals show` alone. */
const ARGUMENTS_CHARACTERS = 500;

/** The question of a paused run, with the arguments of a tool call, and the command that answers. */
export async function sayQuestions({ terminal }: CommandLine, api: Api, runId: string): Promise<void> {
  const filter = { runId, status: "open" };
  const { approvals } = await api.send<{ approvals: { nodes: Asked[] } }>(QUESTIONS, {
    filter,
    first: LIMITS.pageSize,
  });
  for (const { id, question, toolCall } of approvals.nodes) {
    terminal.say(`     ${showStatus(terminal, "paused")}: ${plainText(question)}`);
    const given = toolCall && plainJson(toolCall.arguments);
    if (given !== null && given.length <= ARGUMENTS_CHARACTERS) terminal.say(`     with ${given}`);
    if (given !== null && given.length > ARGUMENTS_CHARACTERS)
      terminal.say(`     with arguments that autograph approvals show ${id} shows`);
    terminal.say(`     autograph approvals approve ${id}`);
  }
}
