/** The subject of the measurements: a server with the sandbox's agents, and the requests that are sent to it and to the floor. */
import { execFile } from "node:child_process";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { serverSettings, type Floor, type Server } from "./launch.ts";
import type { Load } from "./load.ts";

/** The output of `autograph sandbox --json`, as far as it is used here. */
export type World = {
  apiKey: string;
  email: string;
  password: string;
  agents: Record<"three" | "call" | "slow", string>;
};

const run = promisify(execFile);

export async function makeWorld(server: Server, sinkUrl: string): Promise<World> {
  const cli = path.join(server.root, "server/dist/cli/main.js");
  const env = { PATH: process.env["PATH"], ...serverSettings(server.dataFolder, Number(new URL(server.url).port)) };
  const { stdout } = await run(process.execPath, [cli, "sandbox", "--json", "--sink", sinkUrl], { env });
  return JSON.parse(stdout) as World;
}

/** A request without how many of it. */
export type Request = Omit<Load, "connections" | "ms" | "requests">;

const RUN_AND_RESULT = `mutation ($input: RunAgentInput!) {
  runAgent(input: $input) { id status createdAt output steps { number status duration } }
}`;
const START = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id status createdAt } }";
const WAIT_SECONDS = 30;

const bodyOf = (query: string, input: object): string => JSON.stringify({ query, variables: { input } });

function toServer({ url }: Server, { apiKey }: World, body: string, expect: string): Request {
  return { url: `${url}/graphql`, headers: { authorization: `Bearer ${apiKey}` }, body, expect };
}

const COMPLETED = '"status":"completed"';

/** A run of an agent to its result. */
export const runToResult = (server: Server, world: World, agent: "three" | "call"): Request =>
  toServer(
    server,
    world,
    bodyOf(RUN_AND_RESULT, { agentId: world.agents[agent], input: INPUT[agent], wait: WAIT_SECONDS }),
    COMPLETED,
  );

/** The same of an agent that takes no input. */
export const runAgentToEnd = (server: Server, world: World, agentId: string): Request =>
  toServer(server, world, bodyOf(RUN_AND_RESULT, { agentId, input: {}, wait: WAIT_SECONDS }), COMPLETED);

const INPUT = { three: { n: 1 }, call: {}, slow: {} };

/** A start, answered when it is committed. */
export const startOnly = (server: Server, world: World, agent: "three" | "slow"): Request =>
  toServer(server, world, bodyOf(START, { agentId: world.agents[agent], input: INPUT[agent] }), '"id":"run_');

/** The least that our API does. */
export const typename = (server: Server, world: World): Request =>
  toServer(server, world, JSON.stringify({ query: "{__typename}" }), '"__typename":"Query"');

/** The same body as ours, so that reading it costs the same. */
export const onFloor = ({ url }: Floor, what: "three" | "call" | "start"): Request => ({
  url: `${url}/${what}`,
  headers: {},
  body: bodyOf(RUN_AND_RESULT, { agentId: "", input: INPUT.three, wait: WAIT_SECONDS }),
  expect: what === "start" ? '"status":"running"' : COMPLETED,
});

export async function graphql<Data>(
  { url }: Pick<Server, "url">,
  { apiKey }: Pick<World, "apiKey">,
  query: string,
  variables: object = {},
): Promise<Data> {
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data: Data; errors?: { message: string }[] };
  if (errors) throw new Error(errors.map(({ message }) => message).join("; "));
  return data;
}

/** How many runs of an agent have not ended; counts up to one page. */
export async function openRuns(server: Server, world: World, agentId: string): Promise<number> {
  const { runs } = await graphql<{ runs: { nodes: object[] } }>(
    server,
    world,
    // Written out, because older commits take one id where a list is taken today; a literal fits both.
    `{ runs(filter: { agentId: "${agentId}", status: [pending, running] }, first: 200) { nodes { id } } }`,
  );
  return runs.nodes.length;
}

export const SETTLED_POLL_MS = 20;

/** Resolves when no run of *three* is open any more. */
export const untilEnded = (server: Server, world: World) => async (): Promise<void> => {
  while ((await openRuns(server, world, world.agents.three)) > 0) await sleep(SETTLED_POLL_MS);
};

export type Project = { id: string; handle: string };

/** The project of the sandbox's agents. */
export async function projectOf(server: Server, world: World): Promise<Project> {
  const query = "query ($id: ID!) { agent(id: $id) { project { id handle } } }";
  const variables = { id: world.agents.three };
  const { agent } = await graphql<{ agent: { project: Project } }>(server, world, query, variables);
  return agent.project;
}

/** The project's default model from now on. */
export async function connectModel(
  server: Server,
  world: World,
  { id: projectId }: Project,
  baseUrl: string,
  name = "bench",
) {
  const own = { name, provider: "openai_compatible", model: "fixed", isDefault: true };
  const query = "mutation ($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";
  await graphql(server, world, query, { input: { projectId, baseUrl, ...own } });
}

/** An agent of these tasks; answers its id. */
export async function publish(
  server: Server,
  world: World,
  { id: projectId, handle: namespace }: Project,
  name: string,
  tasks: object[],
): Promise<string> {
  const document = { dsl: "1.0.3", namespace, name, version: "1.0.0" };
  const input = { projectId, definition: JSON.stringify({ document, do: tasks }) };
  const query = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
  const { publishAgent } = await graphql<{ publishAgent: { id: string } }>(server, world, query, { input });
  return publishAgent.id;
}
