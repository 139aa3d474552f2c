/** Connections by hand: what no client sends, in pieces and unfinished. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import net from "node:net";
import { post, type TestServer } from "./client.ts";
import { MAIN_THREAD_MS } from "./meter.ts";

export const MB = 1024 * 1024;
/** For hundreds of megabytes over loopback on a busy machine. */
export const BUSY_MS = 40_000;

export type Raw = {
  got(): string;
  /** The bytes received since, which are not kept. */
  take(): string;
  onData(listener: () => void): void;
  write(data: string | Buffer): void;
  closed: Promise<void>;
  isOpen(): boolean;
} & Disposable;

/** `localAddress`: of loopback, where it comes from. */
export async function connect(server: Pick<TestServer, "url">, localAddress?: string): Promise<Raw> {
  const socket = net.connect({ port: Number(new URL(server.url).port), host: "127.0.0.1", localAddress });
  let got = "";
  let isOpen = true;
  const closed = new Promise<void>((resolve) => socket.once("close", () => ((isOpen = false), resolve())));
  socket.on("data", (chunk) => (got += chunk.toString("latin1"))).on("error", () => {});
  await once(socket, "connect");
  return {
    got: () => got,
    take: () => {
      const taken = got;
      got = "";
      return taken;
    },
    onData: (listener) => void socket.on("data", listener),
    write: (data) => void socket.write(data),
    closed,
    isOpen: () => isOpen,
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

export const head = (length: number | "chunked", token?: string, more = "", path = "/graphql"): string =>
  [
    `POST ${path} HTTP/1.1`,
    "host: localhost",
    "content-type: application/json",
    length === "chunked" ? "transfer-encoding: chunked" : `content-length: ${length}`,
    ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
    `${more}\r\n`,
  ].join("\r\n");

export const chunk = (bytes: number): string => `${bytes.toString(16)}\r\n${" ".repeat(bytes)}\r\n`;

export const residentMb = (server: TestServer): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))![1]) / 1024;

/** So many connections that each sent a part of a body, all at once. */
export async function unfinished(
  server: TestServer,
  count: number,
  first: string,
  rest: string,
): Promise<{ all: Raw[] } & Disposable> {
  const all: Raw[] = [];
  for (let begun = 0; begun < count; begun += 50) {
    const some = await Promise.all(Array.from({ length: Math.min(50, count - begun) }, () => connect(server)));
    for (const raw of some) raw.write(first + rest);
    all.push(...some);
  }
  return { all, [Symbol.dispose]: () => all.forEach((raw) => raw[Symbol.dispose]()) };
}

export const ask = async (server: TestServer, token: string, bytes = 0) => {
  const started = performance.now();
  const { status, data } = await post(
    `${server.url}/graphql`,
    "{ me { name } }",
    { padding: "x".repeat(bytes) },
    token,
  );
  return { status, name: data?.me?.name, ms: performance.now() - started };
};

export const statuses = (all: readonly Raw[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const raw of all) {
    const status = raw.got().split(" ")[1] ?? "none";
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
};

/** The longest stretch of the main thread that `flood` makes: the least of three times, or the first one within its bound. */
export async function stretchMs(
  server: Pick<TestServer, "measure">,
  flood: () => Promise<unknown>,
  { times = 3, collected = false } = {},
): Promise<number> {
  let least = Infinity;
  for (let time = 0; time < times && least >= MAIN_THREAD_MS; time++) {
    await server.measure(collected);
    await flood();
    least = Math.min(least, (await server.measure()).longestMs);
  }
  return least;
}
