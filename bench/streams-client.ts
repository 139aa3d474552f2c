/**
 * Subscribers to texts that models write, in a process of their own: graphql-transport-ws, many subscriptions a socket. Each part of a
 * text is the time at which it was written (streaming-model.ts).
 */
import { once } from "node:events";
import { WebSocket } from "ws";
import { serveCommands, startClient, type Client } from "./client-process.ts";

export type Watched = { apiKey: string; runs: string[] };
export type Commands = {
  /** Resolves when each subscription has its first event. */
  watch: { url: string; organizations: Watched[]; perSocket: number };
  /** Answers how much came since the last time. */
  take: object;
};
export type Answers = {
  watch: object;
  take: {
    /** How many parts came so late, by tenths of a millisecond. */
    late: Uint32Array;
    parts: number;
    events: number;
    /** Runs whose end was seen. */
    ended: number;
    /** Events that did not go on where the text was. */
    gaps: number;
    /** The processor time of this process so far. */
    cpuUs: number;
  };
};

const QUERY = `subscription ($id: ID!) {
  runEvents(runId: $id) { revision run { status } textDelta { stepNumber offset text } }
}`;
const LATE_MOST_MS = 60_000;

const now = (): number => performance.timeOrigin + performance.now();

type Event = { run: { status: string } | null; textDelta: { offset: number; text: string } | null };
type Message = { id?: string; type: string; payload?: { data?: { runEvents: Event } } };
type Subscription = { length: number; first: PromiseWithResolvers<void> };

class StreamsClient {
  #late = new Uint32Array(LATE_MOST_MS * 10);
  #counts = { parts: 0, events: 0, ended: 0, gaps: 0 };

  async watch({ url, organizations, perSocket }: Commands["watch"]): Promise<object> {
    for (const { apiKey, runs } of organizations)
      for (let at = 0; at < runs.length; at += perSocket) await this.#open(url, apiKey, runs.slice(at, at + perSocket));
    return {};
  }

  take(): Promise<Answers["take"]> {
    const { user, system } = process.cpuUsage();
    const taken = { late: this.#late, ...this.#counts, cpuUs: user + system };
    this.#late = new Uint32Array(LATE_MOST_MS * 10);
    this.#counts = { parts: 0, events: 0, ended: 0, gaps: 0 };
    return Promise.resolve(taken);
  }

  async #open(url: string, apiKey: string, runs: string[]): Promise<void> {
    const options = { perMessageDeflate: false };
    const socket = new WebSocket(url.replace(/^http/, "ws") + "/graphql", "graphql-transport-ws", options);
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "connection_init", payload: { Authorization: `Bearer ${apiKey}` } }));
    await once(socket, "message");
    const all = runs.map((): Subscription => ({ length: 0, first: Promise.withResolvers<void>() }));
    socket.on("message", (data: Buffer) => this.#read(socket, all, JSON.parse(String(data)) as Message));
    for (const [index, id] of runs.entries()) {
      const payload = { query: QUERY, variables: { id } };
      socket.send(JSON.stringify({ id: String(index), type: "subscribe", payload }));
    }
    await Promise.all(all.map(({ first }) => first.promise));
  }

  #read(socket: WebSocket, all: Subscription[], { id, type, payload }: Message): void {
    if (type === "ping") return socket.send('{"type":"pong"}');
    if (type === "complete") return;
    const event = payload?.data?.runEvents;
    if (!event) throw new Error(JSON.stringify({ type, payload }));
    const subscription = all[Number(id)]!;
    subscription.first.resolve();
    this.#counts.events++;
    if (event.run?.status === "completed") this.#counts.ended++;
    if (event.textDelta) this.#note(subscription, event.textDelta);
  }

  #note(subscription: Subscription, { offset, text }: { offset: number; text: string }): void {
    if (offset !== subscription.length) this.#counts.gaps++;
    subscription.length = offset + text.length;
    const at = now();
    for (const written of text.trimEnd().split(" ")) {
      this.#counts.parts++;
      const late = Math.max(0, Math.floor((at - Number(written)) * 10));
      this.#late[Math.min(late, this.#late.length - 1)]!++;
    }
  }
}

export const startStreamsClient = (): Client<Commands, Answers> => startClient(import.meta.filename);

if (import.meta.main) {
  const client = new StreamsClient();
  serveCommands({ watch: (command) => client.watch(command), take: () => client.take() });
}
