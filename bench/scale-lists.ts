/** A page of 50 runs over GraphQL by one client: as it is mostly asked for, and where the database has to look far. */
import type { Figure } from "./figures.ts";
import type { Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { measure, type Sample } from "./measure.ts";
import { graphql, type World } from "./world.ts";

const PAGE = 50;
/** Runs that wait for a person and runs that wait for a time: what no finished run is. */
const OPEN_RUNS = 60;
const WARM_UP = 50;
const AIM = { most: 3 };

const QUERY = `query ($filter: RunFilter, $after: String) {
  runs(filter: $filter, first: ${PAGE}, after: $after) {
    nodes { id status createdAt progress agent { id name } }
    pageInfo { endCursor hasNextPage }
  }
}`;
type Answer = { runs: { nodes: object[]; pageInfo: { endCursor: string | null } } };

/** Three organizations of one server: one has most runs, one few of each month, one all of its own in the oldest month. */
export type Worlds = Record<"big" | "middle" | "small", World>;

/** `nodes`: how many the page must have. */
type List = { name: string; world: World; filter: object; nodes: number; after?: string };

type Measured = { figures: Figure[]; details: Record<string, unknown> };

export async function measureLists(
  generator: Generator,
  server: Server,
  worlds: Worlds,
  requests: number,
): Promise<Measured> {
  await openRuns(server, worlds.big);
  const samples: Record<string, Sample> = {};
  const p50Of = async (lists: List[]): Promise<number> => {
    for (const list of lists) samples[list.name] = await measureList(generator, server, list, requests);
    return Math.max(...lists.map(({ name }) => samples[name]!.p50Ms));
  };
  const figures: Figure[] = [];
  for (const [what, lists] of Object.entries(await listsOf(server, worlds))) {
    const slowest = lists.length > 1 ? ", slowest" : "";
    figures.push({ figure: `${PAGE} runs ${what}: p50${slowest}`, unit: "ms", ours: await p50Of(lists), aim: AIM });
  }
  return { figures, details: { lists: samples } };
}

/** Further results of `makeWorld`. */
export type SandboxWorld = { projectId: string; agents: Record<"echo" | "approve", string> } & World;

async function openRuns(server: Server, world: World): Promise<void> {
  const { agents, projectId } = world as SandboxWorld;
  const { publishAgent } = await graphql<{ publishAgent: { id: string } }>(
    server,
    world,
    "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
    { input: { projectId, definition: await definition(server, world, projectId) } },
  );
  for (const agentId of [agents.approve, publishAgent.id]) {
    for (let count = 0; count < OPEN_RUNS; count++) {
      const start = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
      await graphql(server, world, start, { input: { agentId, input: {} } });
    }
  }
}

/** Waits a day. */
async function definition(server: Server, world: World, id: string): Promise<string> {
  const query = "query ($id: ID!) { project(id: $id) { handle } }";
  const { project } = await graphql<{ project: { handle: string } }>(server, world, query, { id });
  const document = { dsl: "1.0.3", namespace: project.handle, name: "resting", version: "1.0.0" };
  return JSON.stringify({ document, do: [{ rest: { wait: { days: 1 } } }] });
}

async function listsOf(server: Server, { big, middle, small }: Worlds): Promise<Record<string, List[]>> {
  const byAgent = (agent: keyof World["agents"], nodes: number, after?: string): List => ({
    name: `by agent ${agent}${after ? ", deep" : ""}`,
    world: big,
    filter: { agentId: big.agents[agent] },
    nodes,
    ...(after && { after }),
  });
  const byStatus = (status: string, nodes: number): List => ({
    name: status,
    world: big,
    filter: { status: [status] },
    nodes,
  });
  const { projectId, agents } = big as SandboxWorld;
  const deep = await cursorOf(server, small);
  return {
    "by agent": [
      byAgent("three", PAGE),
      byAgent("call", PAGE),
      { ...byAgent("slow", 0), name: "by agent without runs", filter: { agentId: agents.echo } },
    ],
    "by project": [{ name: "by project", world: big, filter: { projectId }, nodes: PAGE }],
    ...Object.fromEntries(
      ["running", "paused", "completed", "failed", "cancelled"].map((status) => [status, [byStatus(status, PAGE)]]),
    ),
    "pending (there are none)": [byStatus("pending", 0)],
    "of an organization": [{ name: "all", world: big, filter: {}, nodes: PAGE }],
    "far back": [byAgent("three", PAGE, deep), { name: "all, deep", world: big, filter: {}, nodes: PAGE, after: deep }],
    "of a small organization": [middle, small].flatMap((world) => {
      const of = world === middle ? "middle" : "small";
      return [
        { name: `${of}: all`, world, filter: {}, nodes: PAGE },
        { name: `${of}: completed`, world, filter: { status: ["completed"] }, nodes: PAGE },
        { name: `${of}: failed`, world, filter: { status: ["failed"] }, nodes: world === middle ? 30 : PAGE },
      ];
    }),
  };
}

/** Behind the oldest month's runs of the small organization come only runs of that month. */
async function cursorOf(server: Server, world: World): Promise<string> {
  const { runs } = await graphql<Answer>(server, world, QUERY, { filter: {} });
  return runs.pageInfo.endCursor!;
}

async function measureList(
  generator: Generator,
  server: Server,
  { world, filter, nodes, after }: List,
  requests: number,
): Promise<Sample> {
  const variables = { filter, ...(after && { after }) };
  const { runs } = await graphql<Answer>(server, world, QUERY, variables);
  if (runs.nodes.length !== nodes)
    throw new Error(`${JSON.stringify(filter)}: ${runs.nodes.length} runs instead of ${nodes}`);
  return measureQuery(generator, { server, world, requests }, QUERY, variables);
}

/** One query again and again, by one client. */
export async function measureQuery(
  generator: Generator,
  { server, world, requests }: { server: Server; world: World; requests: number },
  query: string,
  variables: object = {},
): Promise<Sample> {
  const request = {
    url: `${server.url}/graphql`,
    headers: { authorization: `Bearer ${world.apiKey}` },
    body: JSON.stringify({ query, variables }),
    expect: '"data":{',
  };
  await generator.run({ ...request, connections: 1, requests: WARM_UP });
  return measure(generator, { request, roots: server.roots }, { connections: 1, requests });
}
