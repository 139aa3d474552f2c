/** The stream of starts: clients that go on through every kill, and remember what was acknowledged. */
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import type { Server } from "./launch.ts";
import type { SoakSink } from "./soak-sink.ts";
import type { World } from "./world.ts";

export const KINDS = ["three", "call", "slow"] as const;
export type Kind = (typeof KINDS)[number];

export type Stream = {
  /** Ids by kind. */
  acknowledged: Record<Kind, Set<string>>;
  count(): number;
  /** Starts without a key that got no answer: whether they were accepted nobody knows. Another was sent in their place. */
  unanswered(): number;
  /** Starts with a key that got no answer and were sent again. */
  sentAgain(): number;
  /** From the kill on, ms until the next acknowledgement. */
  outagesMs: number[];
  killed(): void;
  /** Resolves when all are acknowledged. */
  done: Promise<void>;
};

export type StreamOptions = {
  starts: number;
  /** From 0 to 1 by the start's number, the same for the same seed. */
  random: (number: number) => number;
  server: Pick<Server, "url">;
  world: World;
  sink: SoakSink;
};

const CLIENTS = 32;
const RETRY_MS = 10;
const ANSWER_TIMEOUT_MS = 20_000;
/** Starts of `call` wait while more of its runs than this have not made their last call: the queue stays short of the slots. */
const CALLS_UNDER_WAY = 800;
const THREE = 0.6;
const SLOW = 0.02;

const QUERY = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";

export function startStream({ starts, random, server, world, sink }: StreamOptions): Stream {
  const acknowledged: Stream["acknowledged"] = { three: new Set(), call: new Set(), slow: new Set() };
  const counts = { given: 0, acknowledged: 0, unanswered: 0, sentAgain: 0 };
  const outagesMs: number[] = [];
  let killedAt: number | undefined;
  const agent = new Agent({ connections: CLIENTS, headersTimeout: ANSWER_TIMEOUT_MS, bodyTimeout: ANSWER_TIMEOUT_MS });

  /** The run's id, or that it was surely not accepted, or that no answer came. A refusal ends the soak. */
  const send = async (kind: Kind, idempotencyKey: string | undefined): Promise<Sent> => {
    const input = { agentId: world.agents[kind], input: kind === "three" ? { n: 1 } : {}, idempotencyKey };
    try {
      const { statusCode, body } = await agent.request({
        origin: server.url,
        path: "/graphql",
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${world.apiKey}` },
        body: JSON.stringify({ query: QUERY, variables: { input } }),
      });
      const answer = (await body.json()) as { data?: { runAgent: { id: string } | null } };
      if (answer.data?.runAgent) return { id: answer.data.runAgent.id };
      if (statusCode === 503) return "not accepted";
      throw new Refused(JSON.stringify(answer));
    } catch (error) {
      if (error instanceof Refused) throw error;
      return (error as NodeJS.ErrnoException).code === "ECONNREFUSED" ? "not accepted" : "no answer";
    }
  };

  const accept = (kind: Kind, id: string): void => {
    acknowledged[kind].add(id);
    counts.acknowledged++;
    if (killedAt !== undefined) outagesMs.push(performance.now() - killedAt);
    killedAt = undefined;
  };

  const startOne = async (number: number): Promise<void> => {
    const chosen = random(number);
    const kind = chosen < THREE ? "three" : chosen < 1 - SLOW ? "call" : "slow";
    if (kind === "call") while (sink.underWay() > CALLS_UNDER_WAY) await sleep(RETRY_MS);
    const key = number % 2 === 0 ? `soak-${number}` : undefined;
    for (;;) {
      const sent = await send(kind, key);
      if (typeof sent === "object") return accept(kind, sent.id);
      if (sent === "no answer") counts[key === undefined ? "unanswered" : "sentAgain"]++;
      await sleep(RETRY_MS);
    }
  };

  const client = async (): Promise<void> => {
    while (counts.given < starts) await startOne(counts.given++);
  };

  return {
    acknowledged,
    count: () => counts.acknowledged,
    unanswered: () => counts.unanswered,
    sentAgain: () => counts.sentAgain,
    outagesMs,
    killed: () => void (killedAt = performance.now()),
    done: Promise.all(Array.from({ length: CLIENTS }, client)).then(() => agent.close()),
  };
}

type Sent = { id: string } | "not accepted" | "no answer";
class Refused extends Error {}
