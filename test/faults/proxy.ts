/** A way to PostgreSQL that can be made slow, and cut in the middle of a statement. */
import { once } from "node:events";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export type Cut =
  /** PostgreSQL never hears of the statement. */
  | "before"
  /** It gets half of it. */
  | "within"
  /** It has committed it, and its answer is lost. */
  | "after";

export type Proxy = {
  /** For DATABASE_URL. */
  url: string;
  /** Every answer comes so much later, ms. */
  delay(ms: number): void;
  /** Cuts the connection of the next journal's write (runs/write.ts); resolves when it is cut. */
  cut(when: Cut): Promise<void>;
} & AsyncDisposable;

/** The statements of runs/write.ts are named so in each message that binds their values. */
const WRITE = Buffer.from("write_2");

export async function startProxy(databaseUrl: string): Promise<Proxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<net.Socket>();
  let delayMs = 0;
  let pending: { when: Cut; done: () => void } | undefined;

  const server = net.createServer((client) => {
    const backend = net.connect(Number(target.port), target.hostname);
    const end = (): void => {
      client.destroy();
      backend.destroy();
    };
    for (const socket of [client, backend]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        end();
      });
    }
    let losesAnswer = false;
    const forward = (chunk: Buffer): void => {
      if (!pending || !chunk.includes(WRITE)) return void backend.write(chunk);
      const { when, done } = pending;
      pending = undefined;
      if (when === "before") end();
      else if (when === "after") {
        losesAnswer = true;
        backend.write(chunk);
      } else backend.write(chunk.subarray(0, chunk.length >> 1), end);
      done();
    };
    client.on("data", forward);
    let answering = Promise.resolve();
    backend.on("data", (chunk: Buffer) => {
      if (losesAnswer) return end();
      const wait = delayMs;
      const due = wait > 0 ? sleep(wait) : undefined;
      answering = answering.then(() => due).then(() => void client.write(chunk));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = new URL(databaseUrl);
  url.port = String((server.address() as net.AddressInfo).port);
  return {
    url: url.href,
    delay: (ms) => void (delayMs = ms),
    cut: (when) => new Promise((done) => (pending = { when, done })),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
