/** The rooms' handles, each made of what it is given: read while PostgreSQL starts (app.ts). */
import path from "node:path";
import { createAgents } from "./agents/agents.ts";
import { publishDemo } from "./agents/publish-demo.ts";
import { createAuth, type Auth } from "./auth/auth.ts";
import type { Caller } from "./auth/caller.ts";
import { openSecretKeys } from "./auth/secret-key.ts";
import { createAdmin } from "./auth/setup.ts";
import { isEmpty } from "./auth/users.ts";
import type { Config } from "./config.ts";
import { createExpressions } from "./definition/expressions/expressions.ts";
import { compileWorkflow } from "./definition/plan.ts";
import { EmbeddedEngine } from "./engine/embedded.ts";
import { createGraphql } from "./graphql/graphql.ts";
import type { Handles } from "./graphql/rooms.ts";
import { createEdge } from "./http/edge.ts";
import type { Edge, Listener } from "./http/listen.ts";
import type { Clock } from "./lib/clock.ts";
import type { TellChange } from "./lib/fresh-cache.ts";
import { newId, type AgentId, type ApiKeyId, type SessionId } from "./lib/ids.ts";
import { LIMITS } from "./lib/limits.ts";
import type { Log } from "./lib/log.ts";
import { Places } from "./lib/places.ts";
import { createOutbound } from "./outbound/outbound.ts";
import { openNotices, type Notice } from "./realtime/notices.ts";
import { advanceRun } from "./runs/advance-run.ts";
import { forgetKeys } from "./runs/forget-keys.ts";
import { lookAgain } from "./runs/look-again.ts";
import { createRuns, receive } from "./runs/runs.ts";
import { sweepRuns } from "./runs/sweep-runs.ts";
import type { Storage } from "./storage/open-storage.ts";
import { isUnavailable } from "./storage/pg-errors.ts";
import { createProbe } from "./storage/probe.ts";
import { createCalls } from "./tasks/calls.ts";
import { startWatchdog } from "./watchdog/watchdog.ts";

export type JoinOptions = {
  config: Config;
  clock: Clock;
  log: Log;
  /** From 0 to 1, for jitter. */
  random: () => number;
  /** Another than the limit: tests. */
  standstillSeconds?: number;
};

const WEB_FOLDER = path.join(import.meta.dirname, "../../web/dist");

/** What is opened ends with `stack`. */
export async function joinRooms(
  options: JoinOptions,
  { database, dataFolder, space }: Storage,
  listener: Listener,
  stack: AsyncDisposableStack,
): Promise<{ handles: Handles; edge: Edge }> {
  const { config, clock, log, random } = options;
  const base = { database, clock, log };
  const secretKeys = await openSecretKeys(database, { configured: config.secretKey, dataFolder });
  const expressions = stack.use(createExpressions({ log }));
  const outbound = stack.use(createOutbound({ allow: config.outboundAllow, log }));
  const instanceId = newId<"instance">();
  // Word from another process may come before the rest is joined: nothing is remembered then.
  const joined: { handles?: Handles } = {};
  const notices = stack.use(
    await openNotices({
      ...base,
      instanceId,
      receive: (notice) => joined.handles && hear(joined.handles, notice),
      missed: () => joined.handles && void lookAgain(joined.handles.runs),
    }),
  );
  const tell: TellChange = (kind, organizationId, id) => notices.send({ kind, organizationId, id });
  const agents = createAgents({ ...base, check: expressions.check, compile: compileWorkflow, tell });
  const afterSetup = (owner: Caller): Promise<void> => publishDemo(auth, agents, owner);
  const auth: Auth = stack.use(createAuth({ ...base, secretKeys, defaultPlan: config.defaultPlan, afterSetup, tell }));
  const places = new Places({ shared: LIMITS.runsInMemory, own: LIMITS.runsInMemoryOwn });
  const engine = new EmbeddedEngine({ ...base, instanceId, places });
  const calls = createCalls(outbound);
  const { hasSpace } = space;
  const runs = createRuns({
    ...base,
    agents,
    engine,
    expressions,
    calls,
    random,
    instanceId,
    places,
    notices,
    hasSpace,
  });
  stack.use(forgetKeys(runs));
  const handles = (joined.handles = { auth, agents, runs, clock, log });
  const graphql = stack.use(createGraphql({ handles, isUnavailable }));
  const answers = createProbe(database);
  const isReady = async (): Promise<boolean> => !runs.draining && hasSpace() && (await answers());
  const edge = createEdge({
    ...config,
    graphql,
    auth,
    clock,
    log,
    connections: listener.connections,
    webFolder: WEB_FOLDER,
    isReady,
    isDraining: () => runs.draining,
  });
  // Closed here, before what it needs; the outer one is for a start that fails. It waits for the edge's WebSockets.
  stack.defer(() => listener[Symbol.asyncDispose]());
  stack.use(edge);
  stack.defer(() => drain(runs, engine));
  const { connection } = database;
  const { standstillSeconds = LIMITS.standstillSeconds } = options;
  const loaded = (): Iterable<string> => runs.loaded.keys();
  stack.use(startWatchdog({ log, connection, instanceId, runs: loaded, standstillSeconds }));
  await engine.start(advanceRun(runs));
  stack.use(sweepRuns(runs));
  return { handles, edge };
}

/** Word from another process. */
function hear({ auth, agents, runs }: Handles, notice: Notice): void {
  const { kind, organizationId, id } = notice;
  if (kind === "agent") agents.cache.forget(organizationId, id as AgentId);
  else if (kind === "apiKey") auth.keys.forget(organizationId, id as ApiKeyId);
  else if (kind === "session") auth.sessions.forget(organizationId, id as SessionId);
  else receive(runs, notice);
}

/** No new work; steps under way get 10 s, what is then left is resumed at the next start. */
async function drain(runs: { draining: boolean }, engine: AsyncDisposable & { interruptAll(): void }): Promise<void> {
  runs.draining = true;
  const late = setTimeout(() => engine.interruptAll(), LIMITS.drainSeconds * 1000);
  await engine[Symbol.asyncDispose]();
  clearTimeout(late);
}

/** ADMIN_EMAIL makes the first owner, else a link is issued for whoever reads the server's output. */
export async function prepareOwner({ admin }: Config, auth: Auth, url: string): Promise<string | undefined> {
  if (admin) await createAdmin(auth, admin);
  if (!(await isEmpty(auth))) return undefined;
  return `${url}/#setup=${auth.setupLink.issue().token}`;
}
