/** The frequent steps of tests of runs: publish a few lines of a definition, start it, look at what became of it. */
import { randomUUID } from "node:crypto";
import type { Data, TestServer } from "./client.ts";
import { eventually } from "./client.ts";

type Server = Pick<TestServer, "data" | "graphql" | "world">;

let names = 0;

/** Publishes `do:` (and what else stands beside it) under a name of its own; answers the agent's id. */
export async function agentOf(server: Server, body: string, name = `agent-${++names}`): Promise<string> {
  const definition = `document: {dsl: '1.0.3', namespace: test, name: ${name}, version: '1.0.0'}\n${body}`;
  const { publishAgent } = await server.data(
    "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
    { input: { projectId: server.world.projectId, definition } },
  );
  return publishAgent.id;
}

/** Everything that the API shows of a run. */
export const RUN = `id status version input output error { type status title detail instance stepNumber } createdAt startedAt
  finishedAt cancelledAt currentStep progress revision steps { number name kind status duration startedAt finishedAt input
  output error { type status detail } attempts { number status error { type status detail } startedAt finishedAt } }
  approvals { nodes { id status question context form } }`;

const START = `mutation($input: RunAgentInput!) { runAgent(input: $input) { ${RUN} } }`;
export const DECIDE = "mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { id status } }";
export const CANCEL = "mutation($id: ID!) { cancelRun(runId: $id) { id status cancelledAt } }";

/** Starts a run and waits until it has ended or pauses: longer than the 30 s that a caller may, for a busy machine. */
export async function ran(server: Server, agentId: string, input: object = {}, wait = 30): Promise<Data> {
  const { runAgent: run } = await server.data(START, { input: { agentId, input, wait } });
  const isOver = wait < 30 || [...ENDED, "paused"].includes(run.status);
  return isOver ? run : until(server, run.id, ...ENDED, "paused");
}

/** The answer of `runAgent` once the run has ended or pauses. A slow machine takes longer than a caller may wait: it is asked again by the same key. */
export async function answered(server: Server, fields: string, input: object): Promise<Data> {
  const text = `mutation($input: RunAgentInput!) { runAgent(input: $input) { status ${fields} } }`;
  const variables = { input: { wait: 30, idempotencyKey: randomUUID(), ...input } };
  return eventually(async () => {
    const { runAgent: run } = await server.data(text, variables);
    return [...ENDED, "paused"].includes(run.status) && run;
  });
}

/** Publishes, starts and waits. */
export const runOf = async (server: Server, body: string, input: object = {}): Promise<Data> =>
  ran(server, await agentOf(server, body), input);

export const readRun = async (server: Server, id: string): Promise<Data> =>
  (await server.data(`query($id: ID!) { run(id: $id) { ${RUN} } }`, { id })).run;

const STATUS = "query($id: ID!) { run(id: $id) { status } }";

/** The run once it has one of these states. */
export async function until(server: Server, id: string, ...statuses: string[]): Promise<Data> {
  const { run } = await eventually(async () => {
    const data = await server.data(STATUS, { id });
    return statuses.includes(data.run.status) && data;
  }, 60_000);
  return run && readRun(server, id);
}

export const ENDED = ["completed", "failed", "cancelled"];

/** `one: completed, two: failed`: what became of each step, in order. */
export const stepsOf = (run: Data): string[] =>
  run.steps.map(({ name, status }: Data) => `${name} ${status}`) as string[];

/** Decides the run's open approval. */
export async function decide(server: Server, runId: string, decision: "approve" | "reject", more: object = {}) {
  // For a moment after the decision before it may still be paused.
  const open: Data = await eventually(async () => {
    const { status, approvals } = await readRun(server, runId);
    return status === "paused" && approvals.nodes.find((one: Data) => one["status"] === "open");
  });
  return server.graphql(DECIDE, { input: { approvalId: open.id, decision, ...more } });
}
