/** The script of `autograph demo`: each part is what a client of the API would do. */
import { setTimeout as sleep } from "node:timers/promises";
import { OperatorError } from "../../lib/errors.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { isFinal } from "../../execution/run/states.ts";
import { createApi, type Api } from "../server/api.ts";
import type { CommandLine } from "../line/command-line.ts";
import { createStory, shortJson } from "../watch/show-run.ts";
import { plainText, tableOf } from "../line/terminal.ts";
import { RUN_FIELDS, watchRun, type ShownEvent, type ShownRun } from "../watch/watch-run.ts";

export type DemoAccount = { email: string; password: string };
type DemoOptions = {
  url: string;
  account: DemoAccount;
  /** The server was started for the demo. */
  isOwn: boolean;
  pauseMs: number;
  json: true | undefined;
};

type Stage = {
  line: CommandLine;
  api: Api;
  pause: () => Promise<void>;
  /** A part's title, and what is sent. */
  title: (text: string) => void;
  /** A line that is not data itself. */
  tell: (text: string) => void;
  /** With --json: one line for each thing that happened. */
  fact: (name: string, value: unknown) => void;
};

export async function playDemo(line: CommandLine, options: DemoOptions): Promise<void> {
  const { terminal } = line;
  const { url, json, account } = options;
  const tell = (text: string): void => void (json || terminal.print(text));
  const fact = (name: string, value: unknown): void => json && terminal.printJson({ [name]: value });
  const title = (text: string): void => tell(`\n${terminal.bold(`▸ ${text}`)}`);
  const pause = (): Promise<void> => sleep(options.pauseMs);
  tell(`Autograph at ${url}${options.isOwn ? ", started for this demo and gone after it" : ""}`);
  const token = await signIn({ line, api: createApi(url), pause, title, tell, fact }, account);
  const stage: Stage = { line, api: createApi(url, token), pause, title, tell, fact };
  const agents = await listAgents(stage);
  await approveExpense(stage, agents);
  await retryFlaky(stage, agents);
  await sortMessage(stage, agents);
  await cancelWait(stage, agents);
  title("That is the main job: list, run, watch, approve, cancel.");
  tell("  Each line above came from one GraphQL operation or subscription.");
}

async function signIn({ api, title, tell, fact }: Stage, account: DemoAccount): Promise<string> {
  title(`Sign in as ${account.email}`);
  type Data = { login: { accessToken: string; expiresAt: string } };
  const query =
    "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken expiresAt } }";
  const { login } = await api.send<Data>(query, account);
  tell(`  an access token, good until ${login.expiresAt}`);
  fact("signedIn", { email: account.email, expiresAt: login.expiresAt });
  return login.accessToken;
}

type ListedAgent = {
  id: string;
  handle: string;
  name: string;
  status: string;
  version: string;
  inputFields: { name: string; required: boolean }[];
};

async function listAgents({ api, title, tell, fact, pause }: Stage): Promise<Map<string, string>> {
  await pause();
  title("List the agents");
  const query = "query { agents { id handle name status version inputFields { name required } } }";
  const { agents } = await api.send<{ agents: ListedAgent[] }>(query);
  const rows = agents.map((agent) => [
    agent.handle,
    agent.version,
    agent.status,
    agent.inputFields.map(fieldName).join(", "),
  ]);
  for (const row of tableOf(rows)) tell(`  ${row}`);
  fact("agents", agents);
  return new Map(agents.map((agent) => [agent.handle, agent.id]));
}

const fieldName = ({ name, required }: { name: string; required: boolean }): string => (required ? `${name}*` : name);

type Agents = Map<string, string>;

async function approveExpense(stage: Stage, agents: Agents): Promise<void> {
  const input = { purpose: "Train to Lyon", amount: 180, spentOn: "2026-11-20" };
  await stage.pause();
  stage.title(`Run expense-approval with ${shortJson(input)}`);
  const run = await start(stage, agents, "expense-approval", input);
  await follow(stage, run, async (event) => {
    if (event.run?.status === "paused") await approve(stage, run.id);
  });
}

async function approve({ line, api, tell, fact, pause }: Stage, runId: string): Promise<void> {
  type Asked = { approvals: { nodes: { id: string; question: string }[] } };
  const inbox = "query ($filter: ApprovalFilter!) { approvals(filter: $filter, first: 1) { nodes { id question } } }";
  const [asked] = (await api.send<Asked>(inbox, { filter: { runId, status: "open" } })).approvals.nodes;
  if (!asked) throw new OperatorError("the run paused and asks nothing");
  tell(`     ${line.terminal.yellow("asks:")} ${plainText(asked.question)}`);
  await pause();
  const decide = "mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { id status comment } }";
  const input = {
    approvalId: asked.id,
    decision: "approve",
    comment: "Have a good trip",
    answer: { costCentre: "travel" },
  };
  const { decideApproval } = await api.send<{ decideApproval: JsonObject }>(decide, { input });
  tell(`     ${line.terminal.green("approved:")} ${plainText(String(decideApproval["comment"]))}`);
  fact("approved", { ...decideApproval, question: asked.question });
}

async function retryFlaky(stage: Stage, agents: Agents): Promise<void> {
  await stage.pause();
  stage.title("Run flaky-service, which fails twice and is tried again");
  await follow(stage, await start(stage, agents, "flaky-service", { failures: 2 }));
}

/** Also without a model: its output says then what to set. */
async function sortMessage(stage: Stage, agents: Agents): Promise<void> {
  const input = { from: "kim@example.org", text: "The shop shows an error since noon." };
  await stage.pause();
  stage.title("Run support-triage, which asks a language model if there is one");
  await follow(stage, await start(stage, agents, "support-triage", input));
}

async function cancelWait(stage: Stage, agents: Agents): Promise<void> {
  await stage.pause();
  stage.title("Run ten-minute-wait, and cancel it");
  const run = await start(stage, agents, "ten-minute-wait", { note: "not today" });
  const cancelled = (async () => {
    await stage.pause();
    const query = "mutation ($runId: ID!) { cancelRun(runId: $runId) { id status cancelledAt } }";
    stage.fact("cancelled", (await stage.api.send<{ cancelRun: Json }>(query, { runId: run.id })).cancelRun);
  })();
  await Promise.all([cancelled, follow(stage, run)]);
}

async function start({ api, fact, tell }: Stage, agents: Agents, handle: string, input: JsonObject): Promise<ShownRun> {
  const agentId = agents.get(handle);
  if (agentId === undefined) throw new OperatorError(`there is no agent ${handle} in the demo's project`);
  const query = `mutation ($input: RunAgentInput!) { runAgent(input: $input) { ${RUN_FIELDS} } }`;
  const { runAgent } = await api.send<{ runAgent: ShownRun }>(query, { input: { agentId, input } });
  tell(`  ${runAgent.id}`);
  fact("started", runAgent);
  return runAgent;
}

/** Shows a run until it ends; `meanwhile` is called with each event after it was shown. */
async function follow(stage: Stage, run: ShownRun, meanwhile?: (event: ShownEvent) => Promise<void>): Promise<void> {
  const { line, api } = stage;
  const show = createStory(line.terminal);
  const onLost = (reason: string): void => line.terminal.say(`${reason}; trying to go on`);
  for await (const event of watchRun({ api, runId: run.id, withTexts: false, onLost })) {
    for (const text of show(event)) stage.tell(text.replaceAll(/^/gm, "  "));
    stage.fact("event", event);
    await meanwhile?.(event);
    if (
      event.run &&
      isFinal(event.run.status) &&
      event.run.status !== "completed" &&
      event.run.status !== "cancelled"
    ) {
      throw new OperatorError(`the run ${run.id} ended ${event.run.status}`);
    }
  }
}
