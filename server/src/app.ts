/**
 * The one place where the parts are joined. What is opened ends in the opposite order: first the engine, which drains
 * while HTTP still answers, then HTTP, then the rooms, then PostgreSQL.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Auth } from "./auth/auth.ts";
import type { Caller } from "./auth/caller.ts";
import type { Config } from "./config.ts";
import type { Handles } from "./graphql/rooms.ts";
import { listen, PortInUse, type Edge, type Listener } from "./http/listen.ts";
import type { Clock } from "./lib/clock.ts";
import { OperatorError } from "./lib/errors.ts";
import { newId } from "./lib/ids.ts";
import { LIMITS } from "./lib/limits.ts";
import type { Log } from "./lib/log.ts";
import type { Runs } from "./runs/runs.ts";
import { findDataFolder } from "./storage/data-folder.ts";
import { instanceOf } from "./storage/instance-lock.ts";
import { openStorage, type Storage } from "./storage/open-storage.ts";
import { isUnavailable } from "./storage/pg-errors.ts";
import type { SpaceOptions } from "./storage/space.ts";

export type AppOptions = {
  config: Config;
  clock: Clock;
  log: Log;
  /** From 0 to 1, for jitter. */
  random: () => number;
  /** How free disk space is read and judged. */
  space?: Partial<SpaceOptions>;
};

export type App = {
  /** How clients reach it; without a slash at the end. */
  url: string;
  /** Where it listens, whatever the public URL. */
  localUrl: string;
  /** The folder in use, absolute. */
  dataFolder: string;
  /** The one-time link that makes the first owner; undefined when there is one. */
  setupLink: string | undefined;
  /** The rooms' handles, for who runs the program within another: tests. */
  handles: Handles;
} & AsyncDisposable;

const ROOT = path.join(import.meta.dirname, "../..");

/** Resolves when runs are accepted. Throws OperatorError with one helpful line when it cannot start. */
export async function startApp(options: AppOptions): Promise<App> {
  const { config } = options;
  await using stack = new AsyncDisposableStack();
  // The rooms' code is read while PostgreSQL starts.
  const importing = importRooms();
  importing.catch(() => {});
  const listener = stack.use(await listenFor(config));
  const storage = stack.use(await openStorage({ ...options, ...config, url: listener.url }));
  const rooms = await importing;
  const { handles, edge } = await joinRooms(rooms, options, storage, listener, stack);
  const { url, localUrl } = listener;
  const setupLink = await prepareOwner(rooms, config, handles.auth, url);
  listener.serve(edge);
  const opened = stack.move();
  return {
    url,
    localUrl,
    dataFolder: storage.dataFolder,
    setupLink,
    handles,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const importRooms = async () => {
  const [
    agents,
    demo,
    auth,
    keys,
    setup,
    users,
    expressions,
    plan,
    engine,
    graphql,
    edge,
    outbound,
    notices,
    advance,
    forget,
    look,
    runs,
    sweep,
    calls,
  ] = await Promise.all([
    import("./agents/agents.ts"),
    import("./agents/publish-demo.ts"),
    import("./auth/auth.ts"),
    import("./auth/secret-key.ts"),
    import("./auth/setup.ts"),
    import("./auth/users.ts"),
    import("./definition/expressions/expressions.ts"),
    import("./definition/plan.ts"),
    import("./engine/embedded.ts"),
    import("./graphql/graphql.ts"),
    import("./http/edge.ts"),
    import("./outbound/outbound.ts"),
    import("./realtime/notices.ts"),
    import("./runs/advance-run.ts"),
    import("./runs/forget-keys.ts"),
    import("./runs/look-again.ts"),
    import("./runs/runs.ts"),
    import("./runs/sweep-runs.ts"),
    import("./tasks/calls.ts"),
  ]);
  return {
    ...agents,
    ...demo,
    ...auth,
    ...keys,
    ...setup,
    ...users,
    ...expressions,
    ...plan,
    ...engine,
    ...graphql,
    ...edge,
    ...outbound,
    ...notices,
    ...advance,
    ...forget,
    ...look,
    ...runs,
    ...sweep,
    ...calls,
  };
};
type Rooms = Awaited<ReturnType<typeof importRooms>>;

async function joinRooms(
  rooms: Rooms,
  options: AppOptions,
  { database, dataFolder, space }: Storage,
  listener: Listener,
  stack: AsyncDisposableStack,
): Promise<{ handles: Handles; edge: Edge }> {
  const { config, clock, log, random } = options;
  const base = { database, clock, log };
  const secretKeys = await rooms.openSecretKeys(database, { configured: config.secretKey, dataFolder });
  const expressions = stack.use(rooms.createExpressions({ log }));
  const outbound = stack.use(rooms.createOutbound({ allow: config.outboundAllow, log }));
  const agents = rooms.createAgents({ ...base, check: expressions.check, compile: rooms.compileWorkflow });
  const afterSetup = (owner: Caller): Promise<void> => rooms.publishDemo(auth, agents, owner, demoDefinitions());
  const auth: Auth = stack.use(rooms.createAuth({ ...base, secretKeys, defaultPlan: config.defaultPlan, afterSetup }));
  const instanceId = newId<"instance">();
  const engine = new rooms.EmbeddedEngine({ ...base, instanceId });
  const calls = rooms.createCalls(outbound);
  const { hasSpace } = space;
  // Word from another process may come before the rest is joined.
  const joined: { runs?: Runs } = {};
  const notices = stack.use(
    await rooms.openNotices({
      ...base,
      instanceId,
      receive: (notice) => joined.runs && rooms.receive(joined.runs, notice),
      missed: () => joined.runs && void rooms.lookAgain(joined.runs),
    }),
  );
  const runs = (joined.runs = rooms.createRuns({
    ...base,
    agents,
    engine,
    expressions,
    calls,
    random,
    instanceId,
    notices,
    hasSpace,
  }));
  stack.use(rooms.forgetKeys(runs));
  const handles = { auth, agents, runs, clock, log };
  const graphql = rooms.createGraphql({ handles, isUnavailable });
  const isReady = async (): Promise<boolean> => !runs.draining && hasSpace() && (await answers(database));
  const edge = rooms.createEdge({
    ...config,
    graphql,
    auth,
    log,
    webFolder: path.join(ROOT, "web/dist"),
    isReady,
    isDraining: () => runs.draining,
  });
  // Closed here, before what it needs; the outer one is for a start that fails. It waits for the edge's WebSockets.
  stack.defer(() => listener[Symbol.asyncDispose]());
  stack.use(edge);
  stack.defer(() => drain(runs, engine));
  await engine.start(rooms.advanceRun(runs));
  stack.use(rooms.sweepRuns(runs));
  return { handles, edge };
}

const DATABASE_ANSWER_MS = 1_000;

async function answers({ query }: Storage["database"]): Promise<boolean> {
  const asked = query("select 1").then(
    () => true,
    () => false,
  );
  return Promise.race([asked, sleep(DATABASE_ANSWER_MS, false, { ref: false })]);
}

/** No new work; steps under way get 10 s, what is then left is resumed at the next start. */
async function drain(runs: { draining: boolean }, engine: AsyncDisposable & { interruptAll(): void }): Promise<void> {
  runs.draining = true;
  const late = setTimeout(() => engine.interruptAll(), LIMITS.drainSeconds * 1000);
  await engine[Symbol.asyncDispose]();
  clearTimeout(late);
}

/** ADMIN_EMAIL makes the first owner, else a link is issued for whoever reads the server's output. */
async function prepareOwner(rooms: Rooms, { admin }: Config, auth: Auth, url: string): Promise<string | undefined> {
  if (admin) await rooms.createAdmin(auth, admin);
  if (!(await rooms.isEmpty(auth))) return undefined;
  return `${url}/#setup=${auth.setupLink.issue().token}`;
}

export function demoDefinitions(): { name: string; text: string }[] {
  const folder = path.join(ROOT, "examples/agents");
  return readdirSync(folder).map((name) => ({ name, text: readFileSync(path.join(folder, name), "utf8") }));
}

const HOLDER_WAIT_MS = 1_000;
const HOLDER_POLL_MS = 50;

/** First of all, so that of many starts at once one gets on; the others say where it runs. */
async function listenFor(config: Config): Promise<Listener> {
  try {
    return await listen(config);
  } catch (error) {
    if (!(error instanceof PortInUse)) throw error;
    throw (await runningOn(config.dataFolder)) ?? error;
  }
}

/** The one that has the port writes down who it is a moment later, when it has locked the data folder. */
async function runningOn(dataFolder: string): Promise<OperatorError | undefined> {
  for (let waitedMs = 0; waitedMs < HOLDER_WAIT_MS; waitedMs += HOLDER_POLL_MS) {
    const instance = instanceOf(findDataFolder(dataFolder).folder);
    if (instance) return new OperatorError(`already running at ${instance.url} (${instance.pid})`);
    await sleep(HOLDER_POLL_MS);
  }
  return undefined;
}
