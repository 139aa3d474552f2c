/**
 * Twenty organizations with 2,000 runs each that hang in a call, and a twenty-first that runs, waits and decides: how long
 * it waits for a run's end, beyond the end of a wait, and from a decision to the run's end.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import type { Measured } from "./speed.ts";
import { graphql, makeWorld, startOnly, type World } from "./world.ts";

type Effort = { organizations: number; runs: number; rounds: number };
const FULL: Effort = { organizations: 20, runs: 2_000, rounds: 100 };
const QUICK: Effort = { organizations: 3, runs: 500, rounds: 5 };
const CONNECTIONS = 16;
/** Of one round; also what a wait lasts, so that its run is unloaded. */
const WAIT_MS = 1_200;
const POLL_MS = 5;
const LATE_MS = 1_000;

export async function measureNeighbours(generator: Generator, _sinkUrl: string, isQuick = false): Promise<Measured> {
  const { organizations, runs, rounds } = isQuick ? QUICK : FULL;
  const door = createServer(() => {}).listen(0, "127.0.0.1");
  await once(door, "listening");
  const doorUrl = `http://127.0.0.1:${(door.address() as AddressInfo).port}`;
  using folder = temporaryFolder();
  await using server = await startServer({ folder: folder.path });
  for (let count = 0; count < organizations; count++) {
    const world = await makeWorld(server, doorUrl);
    const hanging = { ...world, agents: { ...world.agents, slow: world.agents.call } };
    await generator.run({ ...startOnly(server, hanging, "slow"), connections: CONNECTIONS, requests: runs });
  }
  const canary = await makeCanary(server, await makeWorld(server, doorUrl));
  const took = { run: [] as number[], wait: [] as number[], decision: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    const [run, wait, decision] = await Promise.all([canary.run(), canary.wait(), canary.decision()]);
    took.run.push(run);
    took.wait.push(wait);
    took.decision.push(decision);
  }
  door.closeAllConnections();
  door.close();
  const beside = `beside ${organizations} × ${runs.toLocaleString("en")} hanging runs`;
  const figures = Object.entries(took).flatMap(([what, times]) => {
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1]!;
    return [
      { figure: `${what} ${beside}, median`, unit: "ms", ours: at(0.5) },
      { figure: `${what} ${beside}, p99`, unit: "ms", ours: at(0.99), aim: { most: LATE_MS } },
    ];
  });
  return { figures, details: { neighbours: took } };
}

const PUBLISH = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
const START = `mutation ($input: RunAgentInput!) {
  runAgent(input: $input) { id status approvals { nodes { id } } }
}`;
const DECIDE = "mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { id } }";
type Started = { runAgent: { id: string; status: string; approvals: { nodes: { id: string }[] } } };

/** What the twenty-first does; each answers in ms how long it waited. */
async function makeCanary(server: Server, world: World) {
  const { projectId } = world as World & { projectId: string };
  const { project } = await graphql<{ project: { handle: string } }>(
    server,
    world,
    "query ($id: ID!) { project(id: $id) { handle } }",
    { id: projectId },
  );
  const publish = async (name: string, first: object): Promise<string> => {
    const document = { dsl: "1.0.3", namespace: project.handle, name, version: "1.0.0" };
    const definition = JSON.stringify({ document, do: [{ first }, { after: { set: { a: 1 } } }] });
    const answer = await graphql<{ publishAgent: { id: string } }>(server, world, PUBLISH, {
      input: { projectId, definition },
    });
    return answer.publishAgent.id;
  };
  const agents = {
    run: await publish("canary-run", { set: { a: 0 } }),
    wait: await publish("canary-wait", { wait: { milliseconds: WAIT_MS } }),
    ask: await publish("canary-ask", { call: "approval:1.0.0@default", with: { question: "Now?" } }),
  };
  const start = async (agentId: string, status: string): Promise<Started["runAgent"]> => {
    const { runAgent } = await graphql<Started>(server, world, START, { input: { agentId, wait: 30 } });
    if (runAgent.status !== status) throw new Error(`the run is ${runAgent.status}, not ${status}`);
    return runAgent;
  };
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const since = performance.now();
    await work();
    return performance.now() - since;
  };
  return {
    run: () => timed(() => start(agents.run, "completed")),
    wait: async () => (await timed(() => start(agents.wait, "completed"))) - WAIT_MS,
    async decision() {
      const { id, approvals } = await start(agents.ask, "paused");
      return timed(async () => {
        const input = { approvalId: approvals.nodes[0]!.id, decision: "approve" };
        await graphql(server, world, DECIDE, { input });
        while (!(await hasEnded(server, world, id))) await sleep(POLL_MS);
      });
    },
  };
}

async function hasEnded(server: Server, world: World, id: string): Promise<boolean> {
  type Answer = { run: { status: string } };
  const { run } = await graphql<Answer>(server, world, "query ($id: ID!) { run(id: $id) { status } }", { id });
  return run.status === "completed";
}
