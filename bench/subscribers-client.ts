/**
 * Subscribers in a process of their own, so that neither their CPU nor their memory is the server's: graphql-transport-ws
 * as a browser speaks it, with as many subscriptions on each socket as asked for.
 */
import { once } from "node:events";
import { WebSocket } from "ws";
import { serveCommands, startClient, type Client } from "./client-process.ts";

export type Commands = {
  /** Opens and signs in. */
  connect: { url: string; apiKey: string; sockets: number };
  /** Subscriptions take the runs in turn. Answers when each has its first event. */
  subscribe: { runs: string[]; perSocket: number };
  /** Resolves when each has ended, or after the time. */
  finish: { timeoutMs: number };
  close: object;
};
export type Answers = {
  connect: object;
  /** Per subscription, in ms: from asking to the first event. */
  subscribe: { firstMs: number[] };
  finish: { subscribers: Subscriber[] };
  close: object;
};
export type Subscriber = {
  run: string;
  events: number;
  /** Revisions only grow, progress never falls. */
  isInOrder: boolean;
  /** The last state that came, and when, in ms since 1970. */
  status: string;
  lastAt: number;
  isComplete: boolean;
};

export type SubscribersClient = Client<Commands, Answers>;

/** Connects and first events that one process has under way. */
const IN_FLIGHT = 16;
const NEXT_TIMEOUT_MS = 30_000;
const QUERY = `subscription ($id: ID!) { runUpdated(runId: $id) { id status currentStep progress revision } }`;

type State = { status: string; progress: number; revision: number };
type Message = { id?: string; type: string; payload?: { data?: { runUpdated: State }; errors?: unknown } };
type Subscription = Subscriber & { progress: number; revision: number; first: PromiseWithResolvers<void> };

const now = (): number => performance.timeOrigin + performance.now();

/** One connection and its subscriptions by their id. */
class Socket {
  readonly #socket: WebSocket;
  readonly subscriptions = new Map<string, Subscription>();
  readonly #failed: (why: Error) => void;

  constructor(socket: WebSocket, failed: (why: Error) => void) {
    this.#socket = socket;
    this.#failed = failed;
    socket.on("message", (data: Buffer) => this.#take(JSON.parse(String(data)) as Message));
    socket.on("error", failed);
    socket.on("close", (code) => code !== 1000 && failed(new Error(`the socket was closed with ${code}`)));
  }

  static async open(url: string, apiKey: string, failed: (why: Error) => void): Promise<Socket> {
    const socket = new WebSocket(url.replace(/^http/, "ws") + "/graphql", "graphql-transport-ws", {
      perMessageDeflate: false,
    });
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "connection_init", payload: { Authorization: `Bearer ${apiKey}` } }));
    await once(socket, "message");
    return new Socket(socket, failed);
  }

  subscribe(run: string): Promise<void> {
    const first = Promise.withResolvers<void>();
    const id = String(this.subscriptions.size);
    const nothing = { events: 0, status: "", lastAt: 0, progress: -1, revision: -1 };
    this.subscriptions.set(id, { ...nothing, run, isInOrder: true, isComplete: false, first });
    this.#socket.send(JSON.stringify({ id, type: "subscribe", payload: { query: QUERY, variables: { id: run } } }));
    return first.promise;
  }

  #take({ id, type, payload }: Message): void {
    if (type === "ping") return this.#socket.send('{"type":"pong"}');
    const subscription = this.subscriptions.get(id ?? "");
    const state = payload?.data?.runUpdated;
    if (type === "complete" && subscription) subscription.isComplete = true;
    else if (type === "next" && subscription && state) note(subscription, state);
    else this.#failed(new Error(JSON.stringify({ type, payload })));
  }

  close(): void {
    this.#socket.close(1000);
  }
}

function note(subscription: Subscription, { status, progress, revision }: State): void {
  if (revision <= subscription.revision || progress < subscription.progress) subscription.isInOrder = false;
  Object.assign(subscription, { status, progress, revision, lastAt: now(), events: subscription.events + 1 });
  subscription.first.resolve();
}

async function inFlight<Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]();
  const line = async (): Promise<void> => {
    for (let next = queue.next(); !next.done; next = queue.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, line));
}

/** The commands of the process; its answers are in their order. */
class Subscribers {
  #sockets: Socket[] = [];
  readonly #failure = Promise.withResolvers<never>();

  async connect({ url, apiKey, sockets }: Commands["connect"]): Promise<object> {
    const failed = (why: Error): void => this.#failure.reject(why);
    await this.#orFailure(
      inFlight(Array(sockets).keys(), async () => {
        this.#sockets.push(await Socket.open(url, apiKey, failed));
      }),
    );
    return {};
  }

  async subscribe({ runs, perSocket }: Commands["subscribe"]): Promise<Answers["subscribe"]> {
    const firstMs: number[] = [];
    let number = 0;
    const each = this.#sockets.flatMap((socket) => Array.from({ length: perSocket }, () => socket));
    await this.#orFailure(
      inFlight(each, async (socket) => {
        const since = now();
        await socket.subscribe(runs[number++ % runs.length]!);
        firstMs.push(now() - since);
      }),
    );
    return { firstMs };
  }

  async finish({ timeoutMs }: Commands["finish"]): Promise<Answers["finish"]> {
    const end = now() + timeoutMs;
    const all = (): Subscription[] => this.#sockets.flatMap(({ subscriptions }) => [...subscriptions.values()]);
    while (now() < end && all().some(({ isComplete }) => !isComplete)) {
      await this.#orFailure(new Promise<void>((resolve) => setTimeout(resolve, 50)));
    }
    const subscribers = all().map(({ run, events, isInOrder, status, lastAt, isComplete }) => ({
      run,
      events,
      isInOrder,
      status,
      lastAt,
      isComplete,
    }));
    for (const { subscriptions } of this.#sockets) subscriptions.clear();
    return { subscribers };
  }

  close(): Promise<object> {
    for (const socket of this.#sockets) socket.close();
    this.#sockets = [];
    return Promise.resolve({});
  }

  async #orFailure<Result>(work: Promise<Result>): Promise<Result> {
    const timeout = Promise.withResolvers<never>();
    const timer = setTimeout(() => timeout.reject(new Error("subscribing took too long")), NEXT_TIMEOUT_MS * 4);
    return Promise.race([work, this.#failure.promise, timeout.promise]).finally(() => clearTimeout(timer));
  }
}

export const startSubscribers = (): SubscribersClient => startClient<Commands, Answers>(import.meta.filename);

if (import.meta.main) {
  const subscribers = new Subscribers();
  serveCommands({
    connect: (command) => subscribers.connect(command),
    subscribe: (command) => subscribers.subscribe(command),
    finish: (command) => subscribers.finish(command),
    close: () => subscribers.close(),
  });
}
