/**
 * Clients as an operator has them: each starts a run with an idempotency key, asks again until it is acknowledged,
 * decides its approval, waits for its end, and starts the next one, whatever happens to the server meanwhile.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Answer, Data, TestServer, Variables } from "../client.ts";
import { DECIDE, ENDED } from "../runs.ts";
import type { Random } from "./random.ts";
import type { Shape } from "./shapes.ts";

export type Asked = { shape: Shape; key: string; runId: string };
/** Enough of a server to be asked; a test may have two of them. */
export type Asking = Pick<TestServer, "graphql">;

const AGAIN_MS = 25;
const POLL_MS = 200;
/** Longer than any outage here, and than twenty that follow each other. */
const PATIENCE_MS = 120_000;

/** Asks until there is an answer: a server that is away or says UNAVAILABLE is asked again. */
export async function insist(server: Asking, query: string, variables: Variables, token?: string): Promise<Answer> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await server.graphql(query, variables, token).catch((error: unknown) => error as Error);
    const isAway =
      answer instanceof Error || answer.errors?.some(({ extensions }) => extensions.code === "UNAVAILABLE");
    if (!isAway) return answer;
    if (Date.now() > end) throw new Error("no answer", { cause: answer });
    await sleep(AGAIN_MS);
  }
}

/** The same, for what must not be refused. */
export async function insisted(server: Asking, query: string, variables: Variables, token?: string): Promise<Data> {
  const { data, errors } = await insist(server, query, variables, token);
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}

const START = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }";
const LOOK = "query($id: ID!) { run(id: $id) { status approvals { nodes { id status } } } }";

export type WorkloadOptions = {
  /** Whom to ask: another one each time, at random. */
  servers: readonly Asking[];
  token?: string;
  random: Random;
  shapes: readonly Shape[];
  /** By the shape's name. */
  agents: ReadonlyMap<string, string>;
  clients: number;
  /** Its keys begin with it, where one workload follows another. */
  name?: string;
  /** More about a run that does not end. */
  explain: (runId: string) => Promise<string>;
};

export type Workload = {
  /** Acknowledged runs. */
  readonly asked: readonly Asked[];
  /** One more run, beside those of the clients; answers its id. */
  start(shape: Shape): Promise<string>;
  /** No more starts; resolves when every acknowledged run has ended. */
  finish(): Promise<void>;
};

export function startWorkload(options: WorkloadOptions): Workload {
  const { servers, random, shapes, agents, token, explain, name = "" } = options;
  const asked: Asked[] = [];
  let keys = 0;
  const finishing = new AbortController();
  const any = (): Asking => random.pick(servers);

  const start = async (shape: Shape): Promise<Asked> => {
    const key = `${name}${shape.name}-${++keys}`;
    const input = { agentId: agents.get(shape.name)!, input: shape.input ?? {}, idempotencyKey: key };
    const { runAgent } = await insisted(any(), START, { input }, token);
    return { shape, key, runId: runAgent.id };
  };
  /** The first decision counts; one whose answer was lost is refused the second time. */
  const decide = async (approvalId: string, decision: string): Promise<void> => {
    const { errors } = await insist(any(), DECIDE, { input: { approvalId, decision } }, token);
    const codes = errors?.map(({ extensions }) => extensions.code) ?? [];
    if (codes.some((code) => code !== "CONFLICT")) throw new Error(JSON.stringify(errors));
  };
  const follow = async ({ shape, runId }: Asked): Promise<void> => {
    for (const end = Date.now() + PATIENCE_MS; ; await sleep(POLL_MS)) {
      const { run } = await insisted(any(), LOOK, { id: runId }, token);
      if (ENDED.includes(run.status)) return;
      if (Date.now() > end) throw new Error(`${shape.name} ${runId} is still ${run.status}: ${await explain(runId)}`);
      const open = run.approvals.nodes.find(({ status }: Data) => status === "open");
      if (open && shape.decision) await decide(open.id, shape.decision);
    }
  };
  const client = async (first: number): Promise<void> => {
    // Every shape's turn comes, however few runs there are.
    for (let turn = first; !finishing.signal.aborted || turn < first + 1; turn++) {
      const one = await start(turn < shapes.length ? shapes[turn]! : random.pick(shapes));
      asked.push(one);
      await follow(one);
    }
  };
  const ended = Promise.all(Array.from({ length: options.clients }, (_, index) => client(index)));
  const beside: Promise<void>[] = [];
  ended.catch(() => {});
  return {
    asked,
    async start(shape) {
      const one = await start(shape);
      asked.push(one);
      const following = follow(one);
      following.catch(() => {});
      beside.push(following);
      return one.runId;
    },
    async finish() {
      finishing.abort();
      await Promise.all([ended, ...beside]);
    },
  };
}
