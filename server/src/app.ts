/**
 * The whole program: the port, PostgreSQL, the rooms. It closes them in reverse order, each when what uses it has ended
 * (join-rooms.ts): what fires by itself, subscriptions, then runs and operations, which drain while HTTP still says so, then HTTP,
 * the rooms, the pools, PostgreSQL.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "./config.ts";
import type { Handles } from "./graphql/context/rooms.ts";
import { listenMetrics } from "./http/server/listen-metrics.ts";
import { listen, PortInUse } from "./http/server/listen.ts";
import type { LastActs } from "./lib/last-acts.ts";
import type { JoinOptions } from "./join-rooms.ts";
import { OperatorError } from "./lib/errors.ts";
import { findDataFolder } from "./postgres/data-folder.ts";
import { instanceOf } from "./postgres/instance-lock.ts";
import { openStorage } from "./storage/open-storage.ts";
import type { SpaceOptions } from "./postgres/space.ts";

type AppOptions = JoinOptions & {
  /** Aborts when the process is told to stop: a start that is not complete goes no further, and throws. */
  stopped?: AbortSignal;
  /** Stops PostgreSQL if the process ends without disposing of the program. */
  lastActs?: LastActs;
  /** How free disk space is read and judged. */
  space?: Partial<SpaceOptions>;
};

export type App = {
  /** How clients reach it; without a slash at the end. */
  url: string;
  /** Where it listens, whatever the public URL. */
  localUrl: string;
  /** Where `METRICS_PORT` serves the figures; undefined without one. */
  metricsUrl: string | undefined;
  /** The data folder in use, absolute. */
  dataFolder: string;
  /** The one-time link that creates the first owner; undefined if there already is one. */
  setupLink: string | undefined;
  /** The rooms' handles, for tests that run the program within their own. */
  handles: Handles;
} & AsyncDisposable;

/** Resolves when runs are accepted. Throws OperatorError with one helpful line if it cannot start. */
export async function startApp(options: AppOptions): Promise<App> {
  const { config, stopped } = options;
  await using stack = new AsyncDisposableStack();
  const last = stack.use(new DisposableStack());
  // Loads the rooms' code while PostgreSQL starts.
  const importing = Promise.all([import("./join-rooms.ts"), import("./graphql/documents/dropped-errors.ts")]);
  importing.catch(() => {});
  const listener = stack.use(await orSayWhereItRuns(config, listen(config)));
  const metricsListener =
    config.metrics && stack.use(await orSayWhereItRuns(config, listenMetrics(config.metrics, options.log)));
  const storage = stack.use(
    await openStorage({ ...options, ...config, url: listener.url, localUrl: listener.localUrl }),
  );
  stopped?.throwIfAborted();
  const [{ joinRooms, prepareOwner }, { ignoreDroppedErrors }] = await importing;
  last.use(ignoreDroppedErrors());
  const { handles, edge, metrics } = await joinRooms(options, storage, listener, stack);
  const { url, localUrl } = listener;
  const setupLink = await prepareOwner(config, handles.auth, url);
  stopped?.throwIfAborted();
  listener.serve(edge);
  metricsListener?.serve(metrics);
  const opened = stack.move();
  return {
    url,
    localUrl,
    metricsUrl: metricsListener?.url,
    dataFolder: storage.dataFolder,
    setupLink,
    handles,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const HOLDER_WAIT_MS = 1_000;
const HOLDER_POLL_MS = 50;

/** Comes first, so that one of many concurrent starts succeeds; the others say where it runs. */
async function orSayWhereItRuns<Opened>({ dataFolder }: Config, opening: Promise<Opened>): Promise<Opened> {
  try {
    return await opening;
  } catch (error) {
    if (!(error instanceof PortInUse)) throw error;
    throw (await runningOn(dataFolder)) ?? error;
  }
}

/** The owner of the port writes its entry a moment later, once it has locked the data folder. */
async function runningOn(dataFolder: string): Promise<OperatorError | undefined> {
  for (let waitedMs = 0; waitedMs < HOLDER_WAIT_MS; waitedMs += HOLDER_POLL_MS) {
    const instance = instanceOf(findDataFolder(dataFolder).folder);
    if (instance) return new OperatorError(`already running at ${instance.url} (${instance.pid})`);
    await sleep(HOLDER_POLL_MS);
  }
  return undefined;
}
