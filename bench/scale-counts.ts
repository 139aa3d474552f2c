/** The queries of a start page over a million runs: the newest runs of fifty agents, and how many runs there are of a kind. */
import type { Figure } from "./figures.ts";
import type { Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import type { Sample } from "./measure.ts";
import { measureQuery, type SandboxWorld } from "./scale-lists.ts";
import { graphql, type World } from "./world.ts";

const AGENTS = 50;
const NEWEST = 20;
const AIM = { newest: { most: 10 }, count: { most: 3 } };

export type ManyAgents = { many: string[] } & World;

/** Agents beside the sandbox's; answers their ids. */
export async function publishMany(server: Server, world: World): Promise<string[]> {
  const { projectId } = world as SandboxWorld;
  const query = "query ($id: ID!) { project(id: $id) { handle } }";
  const { project } = await graphql<{ project: { handle: string } }>(server, world, query, { id: projectId });
  const publish = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
  const ids: string[] = [];
  for (let number = 1; number <= AGENTS; number++) {
    const document = { dsl: "1.0.3", namespace: project.handle, name: `many-${number}`, version: "1.0.0" };
    const definition = JSON.stringify({ document, do: [{ one: { set: { n: 1 } } }] });
    const { publishAgent } = await graphql<{ publishAgent: { id: string } }>(server, world, publish, {
      input: { projectId, definition },
    });
    ids.push(publishAgent.id);
  }
  return ids;
}

const NEWEST_OF_EACH = `query { agentsConnection(first: ${AGENTS}, filter: { text: "many-" }) {
  nodes { id name status runs(first: ${NEWEST}) { nodes { id status createdAt } } } } }`;
const COUNT = "query ($filter: RunFilter) { runCount(filter: $filter) { value isExact } }";

type Measured = { figures: Figure[]; details: Record<string, unknown> };

export async function measureCounts(
  generator: Generator,
  server: Server,
  world: ManyAgents,
  requests: number,
): Promise<Measured> {
  const { agents, projectId, many } = world as ManyAgents & SandboxWorld;
  const answer = await graphql<{ agentsConnection: { nodes: { runs: { nodes: object[] } }[] } }>(
    server,
    world,
    NEWEST_OF_EACH,
  );
  const found = answer.agentsConnection.nodes.flatMap(({ runs }) => runs.nodes).length;
  if (found !== AGENTS * NEWEST) throw new Error(`${found} runs of ${AGENTS} agents`);
  const samples: Record<string, Sample> = {};
  const asked = { server, world, requests };
  const newest = await measureQuery(generator, asked, NEWEST_OF_EACH);
  const figures: Figure[] = [
    { figure: `newest ${NEWEST} runs of ${AGENTS} agents: p50`, unit: "ms", ours: newest.p50Ms, aim: AIM.newest },
  ];
  const counted: Record<string, object> = {
    "all runs": {},
    "of an agent": { agentId: agents.three },
    "of a project": { projectId },
    "of several agents": { agentId: many },
    failed: { status: "failed" },
    "of an agent, failed": { agentId: agents.three, status: "failed" },
    "of an agent, open": { agentId: agents.three, status: ["pending", "running", "paused"] },
    "started by triggers (there are none)": { startedBy: { kind: "trigger" } },
  };
  for (const [what, filter] of Object.entries(counted)) {
    const sample = await measureQuery(generator, asked, COUNT, { filter });
    samples[what] = sample;
    figures.push({ figure: `count ${what}: p50`, unit: "ms", ours: sample.p50Ms, aim: AIM.count });
  }
  return { figures, details: { counts: { newest, ...samples } } };
}
