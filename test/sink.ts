/**
 * A small real HTTP server for what the product calls: counts requests by their `run` and `step` query and keeps their
 * Idempotency-Key. How it behaves stands in the path, so that it can be told so in its own process too:
 *
 *     /refuse/2    503 to the first two requests of each run and step    /refuse    to all
 *     /drop/1      the connection is cut instead of an answer            /drop
 *     /hang/1      no answer ever                                        /hang
 *     /delay/100   every answer takes 100 ms
 *     /hold        answered when the test lets it go
 *
 * They can be joined: `/delay/20/refuse/1`. `GET /counts` answers `summary()`.
 *
 * By itself: `node test/sink.ts --port 4500` prints `{"url", "port"}` when it listens, and on SIGUSR2 and at its end
 * (SIGTERM, SIGINT) one JSON line for each run and step and one with the summary.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";

/** `keys`: the different Idempotency-Keys, in the order they came. `answered`: how many got a 200. */
export type SinkCount = { run: string; step: string; requests: number; answered: number; keys: string[] };

export type SinkSummary = {
  requests: number;
  /** Different pairs of run and step. */
  steps: number;
  /** Requests beyond the first of their run and step. */
  repeated: number;
  /** Steps whose requests came with more than one key. */
  keysChanged: number;
  /** Requests without an answer at this moment. */
  waiting: number;
  /** Requests whose client closed the connection before the answer. */
  abandoned: number;
};

export type Sink = {
  /** Without a slash at the end: `${url}/hang?run=1&step=1`. */
  url: string;
  port: number;
  /** By `<run>/<step>`. */
  requests: ReadonlyMap<string, SinkCount>;
  count(run: string, step: string | number): SinkCount | undefined;
  summary(): SinkSummary;
  /** Returns what is held at this moment. */
  letGo(): void;
  reset(): void;
} & AsyncDisposable;

export type SinkOptions = { port?: number; host?: string };

export async function startSink({ port = 0, host = "127.0.0.1" }: SinkOptions = {}): Promise<Sink> {
  const counts = new Map<string, SinkCount>();
  const flow = { waiting: 0, abandoned: 0 };
  const held: (() => void)[] = [];
  const summary = (): SinkSummary => ({ ...summarize(counts), ...flow });
  const server = createServer((request, response) => {
    const [path = "/", query = ""] = request.url!.split("?", 2);
    request.resume();
    if (path === "/counts") return void response.end(JSON.stringify(summary()));
    flow.waiting++;
    let dropped = false;
    response.once("close", () => {
      flow.waiting--;
      if (!response.writableEnded && !dropped) flow.abandoned++;
    });
    request.once("end", () => {
      const count = register(counts, request, query);
      const behaviour = behaviourOf(path);
      dropped = count.requests <= behaviour.drop;
      if (dropped) response.destroy();
      else answer(response, behaviour, count, held);
    });
  });
  server.listen(port, host);
  await once(server, "listening");
  const bound = server.address() as AddressInfo;
  return {
    url: `http://${bound.family === "IPv6" ? `[${bound.address}]` : bound.address}:${bound.port}`,
    port: bound.port,
    requests: counts,
    count: (run, step) => counts.get(`${run}/${step}`),
    summary,
    letGo: () => {
      for (const send of held.splice(0)) send();
    },
    reset: () => counts.clear(),
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

type Behaviour = { refuse: number; drop: number; hang: number; delay: number; hold: number };

const behaviours = new Map<string, Behaviour>();

function behaviourOf(path: string): Behaviour {
  const known = behaviours.get(path);
  if (known) return known;
  const behaviour: Behaviour = { refuse: 0, drop: 0, hang: 0, delay: 0, hold: 0 };
  for (const [, word = "", number] of path.matchAll(/\/(refuse|drop|hang|delay|hold)(?:\/(\d+))?(?=\/|$)/g)) {
    behaviour[word as keyof Behaviour] = number === undefined ? Infinity : Number(number);
  }
  behaviours.set(path, behaviour);
  return behaviour;
}

function register(counts: Map<string, SinkCount>, request: IncomingMessage, query: string): SinkCount {
  const parameters = new URLSearchParams(query);
  const run = parameters.get("run") ?? "";
  const step = parameters.get("step") ?? "";
  let count = counts.get(`${run}/${step}`);
  if (!count) counts.set(`${run}/${step}`, (count = { run, step, requests: 0, answered: 0, keys: [] }));
  count.requests++;
  const key = request.headers["idempotency-key"];
  if (typeof key === "string" && !count.keys.includes(key)) count.keys.push(key);
  return count;
}

function answer(response: ServerResponse, behaviour: Behaviour, count: SinkCount, held: (() => void)[]): void {
  const number = count.requests;
  if (number <= behaviour.hang) return;
  const send = (): void => {
    if (response.destroyed) return;
    const refused = number <= behaviour.refuse;
    if (!refused) count.answered++;
    const body = JSON.stringify(refused ? { refused: number } : { received: number });
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    response.writeHead(refused ? 503 : 200, headers).end(body);
  };
  if (number <= behaviour.hold) held.push(send);
  else if (behaviour.delay > 0) setTimeout(send, behaviour.delay);
  else send();
}

function summarize(counts: ReadonlyMap<string, SinkCount>): Omit<SinkSummary, "waiting" | "abandoned"> {
  const summary = { requests: 0, steps: counts.size, repeated: 0, keysChanged: 0 };
  for (const { requests, keys } of counts.values()) {
    summary.requests += requests;
    summary.repeated += requests - 1;
    if (keys.length > 1) summary.keysChanged++;
  }
  return summary;
}

const line = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

if (import.meta.main) {
  const { values } = parseArgs({ options: { port: { type: "string", default: "0" }, host: { type: "string" } } });
  const sink = await startSink({ port: Number(values.port), ...(values.host && { host: values.host }) });
  const print = (): void => {
    for (const count of sink.requests.values()) line(count);
    line(sink.summary());
  };
  const stop = (): void => {
    print();
    void sink[Symbol.asyncDispose]();
  };
  process.on("SIGUSR2", print);
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  line({ url: sink.url, port: sink.port });
}
