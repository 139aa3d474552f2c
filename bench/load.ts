/**
 * The load generator, in a process of its own: as many keep-alive connections as asked for, each with one request in
 * flight, for a time or a number of requests. Written on node:net because it shares the machine with what it measures:
 * a request costs it a third of what node:http's client costs (14 against 40 µs of CPU). Every answer must have `status` and hold `expect`.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import net from "node:net";

export type Load = {
  url: string;
  headers: Record<string, string>;
  /** Each `NUMBER` in it becomes a number that no other request has, as wide as it. */
  body: string;
  /** 200 if left out. */
  status?: number;
  /** A text that every right answer has. */
  expect: string;
  connections: number;
  /** Ends after this long, or after so many requests. */
  ms?: number;
  requests?: number;
};

/** In a body. */
export const NUMBER = "_NUMBER_";

export type LoadResult = {
  requests: number;
  ms: number;
  /** Requests a second. */
  rate: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU of the generator itself a request. */
  cpuMs: number;
};

export type Generator = { run(load: Load): Promise<LoadResult> } & AsyncDisposable;

/** One keep-alive connection. Understands what the servers here answer: a status, a Content-Length, a body. */
export class Connection {
  readonly #socket: net.Socket;
  #received = "";
  #waiting: PromiseWithResolvers<string> | undefined;

  constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.setNoDelay(true).setEncoding("latin1");
    socket.on("data", (text: string) => this.#take(text));
    socket.on("error", (error) => this.#waiting?.reject(error));
    socket.on("close", () => this.#waiting?.reject(new Error("the connection was closed")));
  }

  static async open(url: URL): Promise<Connection> {
    const socket = net.connect(Number(url.port), url.hostname);
    await once(socket, "connect");
    return new Connection(socket);
  }

  /** Returns the whole response as text. */
  send(request: string): Promise<string> {
    this.#waiting = Promise.withResolvers();
    this.#received = "";
    this.#socket.write(request, "latin1");
    return this.#waiting.promise;
  }

  #take(text: string): void {
    this.#received += text;
    const head = this.#received.indexOf("\r\n\r\n");
    if (head < 0) return;
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(this.#received)?.[1];
    if (length === undefined) return this.#waiting!.reject(new Error(`no Content-Length: ${this.#received}`));
    if (this.#received.length >= head + 4 + Number(length)) this.#waiting!.resolve(this.#received);
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }
}

export function requestText({ headers, body }: Pick<Load, "headers" | "body">, url: URL): string {
  const all = {
    host: url.host,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${url.pathname} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

let sent = 0;

async function run(load: Load): Promise<LoadResult> {
  const url = new URL(load.url);
  const text = requestText(load, url);
  const numbered = text.split(NUMBER);
  const next = numbered.length === 1 ? () => text : () => numbered.join(String(++sent).padStart(NUMBER.length, "0"));
  const status = `HTTP/1.1 ${load.status ?? 200}`;
  const connections = await Promise.all(Array.from({ length: load.connections }, () => Connection.open(url)));
  const latencies: number[] = [];
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const end = start + (load.ms ?? Infinity);
  let left = load.requests ?? Infinity;
  const drive = async (connection: Connection): Promise<void> => {
    for (let now = performance.now(); now < end && left-- > 0;) {
      const answer = await connection.send(next());
      if (!answer.startsWith(status) || !answer.includes(load.expect)) throw new Error(answer);
      const after = performance.now();
      latencies.push(after - now);
      now = after;
    }
  };
  await Promise.all(connections.map(drive));
  const ms = performance.now() - start;
  const cpu = process.cpuUsage(cpuBefore);
  for (const connection of connections) connection.close();
  return { ...summarize(latencies, ms), cpuMs: (cpu.user + cpu.system) / 1000 / latencies.length };
}

function summarize(latencies: number[], ms: number): Omit<LoadResult, "cpuMs"> {
  const sorted = Float64Array.from(latencies).toSorted();
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return {
    requests: sorted.length,
    ms,
    rate: (sorted.length / ms) * 1000,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}

type Answer = { result?: LoadResult; error?: string };

/** Starts the process. */
export function startGenerator(): Generator {
  const child = fork(import.meta.filename, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const ended = once(child, "exit");
  let waiting: ((answer: Answer) => void) | undefined;
  child.on("message", (answer: Answer) => waiting?.(answer));
  child.once("exit", () => waiting?.({ error: "the load generator ended" }));
  return {
    async run(load) {
      const answer = await new Promise<Answer>((resolve) => {
        waiting = resolve;
        child.send(load);
      });
      if (!answer.result) throw new Error(`a request went wrong: ${answer.error}`);
      return answer.result;
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

if (import.meta.main) {
  process.on("message", (load: Load) => {
    run(load).then(
      (result) => process.send!({ result }),
      (error: unknown) => process.send!({ error: String(error) }),
    );
  });
}
