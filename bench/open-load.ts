/**
 * An open load, in a process of its own: so many requests a second, whatever the answers do, each on a connection that waits for
 * nothing. A request's time counts from the moment at which it was due, so what a slow server holds back counts too.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import net from "node:net";
import { requestText } from "./load.ts";

export type OpenLoad = {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** 200 if left out. */
  status?: number;
  /** A text that every answer with it has. */
  expect: string;
  /** Requests a second. */
  rate: number;
  ms: number;
  /** The most that may wait for an answer at a time; beyond it requests are counted as not sent. */
  connections: number;
  /** Whether a connection that was refused is used again at once, or after its `Retry-After`. */
  obeys: boolean;
};

export type OpenResult = {
  sent: number;
  notSent: number;
  answered: number;
  refused: number;
  /** Refused without `Retry-After`, or answered with anything else than that status and 503. */
  wrong: number;
  ms: number;
  p50Ms: number;
  p99Ms: number;
  /** The last wrong one. */
  example?: string;
};

/** How long those under way at the end are waited for. */
const END_MS = 5_000;
const TICK_MS = 2;

async function run(load: OpenLoad): Promise<OpenResult> {
  const url = new URL(load.url);
  const text = requestText(load, url);
  const status = `HTTP/1.1 ${load.status ?? 200}`;
  const idle: net.Socket[] = [];
  const all: net.Socket[] = [];
  const latencies: number[] = [];
  const result = { sent: 0, notSent: 0, answered: 0, refused: 0, wrong: 0 };
  let example: string | undefined;
  const due = new Map<net.Socket, number>();

  const answered = (socket: net.Socket, answer: string): void => {
    const took = performance.now() - due.get(socket)!;
    due.delete(socket);
    const after = load.obeys ? /\r\nretry-after: (\d+)/i.exec(answer) : null;
    if (after) setTimeout(() => idle.push(socket), Number(after[1]) * 1_000);
    else idle.push(socket);
    if (answer.startsWith(status) && answer.includes(load.expect)) {
      result.answered++;
      latencies.push(took);
    } else if (answer.startsWith("HTTP/1.1 503") && /\r\nretry-after: \d/i.test(answer)) result.refused++;
    else {
      result.wrong++;
      example = answer;
    }
  };

  const open = async (): Promise<void> => {
    const socket = net.connect(Number(url.port), url.hostname).setNoDelay(true).setEncoding("latin1");
    await once(socket, "connect");
    let received = "";
    socket.on("data", (chunk: string) => {
      received += chunk;
      const head = received.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(received)?.[1]);
      if (received.length < head + 4 + length) return;
      const answer = received;
      received = "";
      answered(socket, answer);
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      if (due.delete(socket)) result.wrong++;
    });
    all.push(socket);
    idle.push(socket);
  };
  while (all.length < load.connections) await Promise.all(Array.from({ length: 100 }, open));

  const start = performance.now();
  for (let count = 0, now = start; now - start < load.ms; now = performance.now()) {
    for (; start + (count * 1_000) / load.rate <= now; count++) {
      const socket = idle.pop();
      if (!socket || socket.destroyed) {
        result.notSent++;
        continue;
      }
      due.set(socket, start + (count * 1_000) / load.rate);
      result.sent++;
      socket.write(text, "latin1");
    }
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  const ms = performance.now() - start;
  for (const end = performance.now() + END_MS; due.size > 0 && performance.now() < end;)
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  for (const socket of all) socket.destroy();
  const sorted = Float64Array.from(latencies).toSorted();
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { ...result, ms, p50Ms: at(0.5), p99Ms: at(0.99), ...(example !== undefined && { example }) };
}

/** In a process that ends with it. */
export async function runOpenLoad(load: OpenLoad): Promise<OpenResult> {
  const child = fork(import.meta.filename, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const answer = once(child, "message") as Promise<[OpenResult]>;
  const failed = once(child, "exit").then(() => Promise.reject(new Error("the load generator ended")));
  failed.catch(() => {});
  child.send(load);
  const [result] = await Promise.race([answer, failed]);
  child.disconnect();
  return result;
}

if (import.meta.main) {
  process.once("message", (load: OpenLoad) => {
    void run(load).then((result) => process.send!(result));
  });
}
