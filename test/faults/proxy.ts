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
  /**
   * From now on nothing passes on the connections that are open, and neither side hears of it: a wire that is cut, a
   * firewall that forgot them. With `text` only on those on which it was sent. Answers how many there are.
   */
  freeze(text?: string): number;
  /** How many connections are open. */
  connections(): number;
  /** Freezes each connection on which this is sent from now on, before it passes. */
  freezeAt(text: string): void;
  /** Cuts the connection of the next journal's write (execution/journal/write.ts); resolves when it is cut. */
  cut(when: Cut): Promise<void>;
} & AsyncDisposable;

/** The statements of execution/journal/write.ts are named so in each message that binds their values. */
const WRITE = Buffer.from("write_2");
/** The state of each connection. */
const KEPT_CHARACTERS = 10_000;

export async function startProxy(databaseUrl: string): Promise<Proxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<net.Socket>();
  const wires = new Set<{ sent: (text: string) => boolean; freeze: () => void }>();
  let delayMs = 0;
  let pending: { when: Cut; done: () => void } | undefined;
  let fatal: string | undefined;

  const server = net.createServer((client) => {
    const backend = net.connect(Number(target.port), target.hostname);
    let isFrozen = false;
    const end = (): void => {
      client.destroy();
      backend.destroy();
    };
    for (const socket of [client, backend]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        if (!isFrozen) end();
      });
    }
    let losesAnswer = false;
    let sent = "";
    const wire = { sent: (text: string) => sent.includes(text), freeze: () => void (isFrozen = true) };
    wires.add(wire);
    client.on("close", () => wires.delete(wire));
    const forward = (chunk: Buffer): void => {
      if (fatal !== undefined && chunk.includes(fatal)) isFrozen = true;
      if (isFrozen) return;
      if (sent.length < KEPT_CHARACTERS) sent += chunk.toString("latin1");
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
      if (isFrozen) return;
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
    freeze: (text = "") => {
      const found = [...wires].filter((wire) => wire.sent(text));
      for (const wire of found) wire.freeze();
      return found.length;
    },
    connections: () => wires.size,
    freezeAt: (text) => void (fatal = text),
    cut: (when) => new Promise((done) => (pending = { when, done })),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
