/** Makes the rooms' handles, each from what it is given. Loaded while PostgreSQL starts (app.ts). */
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createAgents } from "./agents/agents.ts";
import { publishDemo } from "./agents/publish-demo.ts";
import { createAuth, type Auth } from "./auth/handle/auth.ts";
import type { Acting } from "./auth/caller.ts";
import { forgetApiKeys } from "./auth/api-keys/forget-api-keys.ts";
import { createFirstOrganization } from "./auth/first-organization.ts";
import { openSecretKeys } from "./auth/tokens/secret-key.ts";
import { createAdmin } from "./auth/accounts/setup.ts";
import { isEmpty } from "./auth/accounts/users.ts";
import type { Config } from "./config.ts";
import { createExpressions } from "./expressions/expressions.ts";
import { compileWorkflow } from "./definition/program.ts";
import { EmbeddedEngine } from "./engine/embedded.ts";
import type { Engine, EngineOptions } from "./engine/engine.ts";
import { createGraphql, type Graphql } from "./graphql/graphql.ts";
import type { Handles } from "./graphql/context/rooms.ts";
import { createEdge } from "./http/server/edge.ts";
import type { Edge, Listener, Readiness } from "./http/server/listen.ts";
import type { Clock } from "./lib/clock.ts";
import { Histogram } from "./lib/figures.ts";
import { stopping } from "./lib/errors.ts";
import { newId } from "./lib/ids.ts";
import { LIMITS } from "./lib/limits.ts";
import type { Log } from "./lib/log/log.ts";
import type { Loop } from "./lib/loops/loop.ts";
import { LoopWatch } from "./lib/loops/loop-watch.ts";
import { Places } from "./fairness/places.ts";
import type { UnderWay } from "./lib/under-way.ts";
import { VERSION } from "./lib/version.ts";
import type { Members } from "./members/members.ts";
import { createMetrics, type Metrics } from "./metrics/metrics.ts";
import { createLlm } from "./llm/llm.ts";
import { createOutbound } from "./outbound/outbound.ts";
import { createRates } from "./rates/rates.ts";
import { openNotices } from "./realtime/notices.ts";
import { createAdvance } from "./execution/advance.ts";
import { CLAIMED_COLUMNS } from "./execution/journal/read-journal.ts";
import { createDueCount } from "./engine/count-due.ts";
import { forgetKeys } from "./runs/forget-keys.ts";
import { createOpenApprovalsCount } from "./runs/read/count-open-approvals.ts";
import { createRuns } from "./runs/create-runs.ts";
import type { Runs } from "./runs/handle/runs.ts";
import { sweepRuns } from "./runs/sweep-runs.ts";
import { readValues } from "./secrets/read-values.ts";
import { createSecrets } from "./secrets/secrets.ts";
import type { Storage } from "./storage/open-storage.ts";
import { isUnavailable } from "./storage/pg-errors.ts";
import { createProbe } from "./storage/probe.ts";
import type { ReadSecrets } from "./execution/calls/authentication.ts";
import { createTokens } from "./execution/calls/oauth2-tokens.ts";
import { createHttpCall } from "./execution/tasks/http.ts";
import { createTasks } from "./execution/tasks/kinds.ts";
import { forgetRunDrafts } from "./run-drafts/run-draft-store.ts";
import { fireDue } from "./triggers/schedule/fire-due.ts";
import { sweepEvents } from "./events/sweep-events.ts";
import { publishOwnEvents } from "./events/publish-own-events.ts";
import { outboxPart } from "./events/outbox.ts";
import { FIRING_PARTS } from "./triggers/store/firing-parts.ts";
import { readSubject } from "./triggers/own-events.ts";
import { triggersOfDefinitions } from "./triggers/publish-triggers.ts";
import { releaseQueues } from "./triggers/firings/release-queues.ts";
import { forgetFirings } from "./triggers/forget-firings.ts";
import { createTriggerMemory } from "./triggers/memory.ts";
import { createTriggers } from "./triggers/triggers.ts";
import { startWatchdog } from "./watchdog/watchdog.ts";

export type JoinOptions = {
  config: Config;
  clock: Clock;
  log: Log;
  /** From 0 to 1, for jitter. */
  random: () => number;
  /** Replaces the product's own, in tests. */
  openEngine?: (options: EngineOptions) => Engine;
  /** Replaces the limit, in tests. */
  standstillSeconds?: number;
};

/** For operations that wait for nothing: a statement takes longer only if the database does not answer. */
const OPERATIONS_MS = 5_000;
const ANSWERS_MS = 1_000;
const WEB_FOLDER = path.join(import.meta.dirname, "../../web/dist");

/** `stack` closes what is opened here. */
export async function joinRooms(
  options: JoinOptions,
  { database, dataFolder, space, loops: storageLoops }: Storage,
  listener: Listener,
  stack: AsyncDisposableStack,
): Promise<{ handles: Handles; edge: Edge; metrics: Metrics }> {
  const { config, clock, log, random } = options;
  const base = { database, clock, log };
  const loops = new LoopWatch(base);
  const secretKeys = await openSecretKeys(database, { configured: config.secretKey, dataFolder });
  const rates = stack.use(createRates(base));
  const expressions = stack.use(createExpressions({ log }));
  const outbound = stack.use(createOutbound({ allow: config.outboundAllow, clock, log }));
  const instanceId = newId<"instance">();
  const notices = stack.use(await openNotices({ ...base, instanceId }));
  const { derive } = secretKeys;
  const triggerMemory = createTriggerMemory({ ...base, derive, notices });
  const agents = createAgents({
    ...base,
    check: expressions.check,
    compile: compileWorkflow,
    notices,
    triggers: triggersOfDefinitions(triggerMemory),
  });
  const afterSetup = (owner: Acting): Promise<void> => publishDemo(auth, agents, owner);
  const auth: Auth = stack.use(
    createAuth({ ...base, secretKeys, defaultPlan: config.defaultPlan, afterSetup, notices }),
  );
  const secrets = createSecrets({ ...base, derive });
  const places = new Places({ shared: LIMITS.runsInMemory, own: LIMITS.runsInMemoryOwn });
  const { openEngine = (given) => new EmbeddedEngine(given) } = options;
  const delaySeconds = Histogram.ofSeconds();
  const engine = openEngine({ ...base, instanceId, places, delaySeconds });
  const readSecrets: ReadSecrets = (...asked) => readValues(secrets, ...asked);
  const tokens = createTokens(outbound, clock);
  const tasks = createTasks({ http: createHttpCall({ outbound, readSecrets, tokens }) });
  const { hasSpace } = space;
  const runs = createRuns({
    ...base,
    agents,
    engine,
    expressions,
    tasks,
    random,
    places,
    notices,
    hasSpace,
    usage: rates.usage,
    parts: { guards: FIRING_PARTS, followers: [outboxPart(triggerMemory.outbox)] },
    next: triggerMemory.queues.runEnded,
  });
  const forgetting: Loop[] = [forgetKeys(runs), forgetRunDrafts(base), forgetApiKeys(base), forgetFirings(base)];
  for (const loop of forgetting) stack.use(loop);
  const triggers = createTriggers({
    ...base,
    memory: triggerMemory,
    agents,
    runs,
    secrets,
    url: listener.url,
  });
  const { events } = triggers;
  const listening = stack.use(triggerMemory.listeners.watch(clock));
  const members: Members = { auth, invitationKey: secretKeys.derive("invitations v1"), url: listener.url };
  const operator = createFirstOrganization(database);
  const llm = config.llm && stack.use(createLlm(config.llm, { clock, log, usage: rates.usage, operator }));
  const runDrafts = { ...base, agents, llm };
  const handles = { runDrafts, auth, members, agents, runs, events, triggers, rates, secrets, clock, log };
  const graphql = stack.use(createGraphql({ handles, isUnavailable }));
  const answers = createProbe(database);
  let isStopping = false;
  const isAccepting = (): boolean => !isStopping && hasSpace();
  const isReady = async (): Promise<Readiness> => {
    const late = loops.late();
    return { isReady: isAccepting() && (await answers()) && late.length === 0, late };
  };
  const { connections, entrance } = listener;
  const { memory, loaded, writer: commits } = runs.executions;
  const metrics = createMetrics({
    build: { version: VERSION, node: process.versions.node },
    isAccepting,
    http: listener.figures,
    connections,
    entrance,
    edge: () => edge,
    graphql: graphql.figures,
    runs: runs.figures,
    due: createDueCount(base),
    openApprovals: createOpenApprovalsCount(database),
    memory,
    loaded,
    places,
    engine,
    delaySeconds,
    commits,
    pools: database.pools,
    outbound: outbound.figures,
    loops,
    llm: llm?.figures,
  });
  const edge = createEdge({
    ...config,
    graphql,
    auth,
    members,
    events,
    triggers,
    clock,
    log,
    connections,
    metrics,
    rates,
    firstOrganization: operator,
    isUnavailable,
    entrance,
    backlog: database.backlog,
    webFolder: WEB_FOLDER,
    isReady,
    isStopping: () => isStopping,
  });
  const { connection } = database;
  const { standstillSeconds = LIMITS.standstillSeconds } = options;
  const advanced = (): Iterable<string> => loaded.keys();
  const beat = (): void => loops.look();
  stack.use(startWatchdog({ log, connection, instanceId, runs: advanced, standstillSeconds, beat }));
  // Closes the listener before what it needs, and waits for the edge's WebSockets. The outer disposal is for a start that fails.
  stack.defer(() => listener[Symbol.asyncDispose]());
  stack.use(edge);
  stack.defer(() => drain({ runs, graphql, requests: edge.working, log }));
  stack.defer(() => edge.leave());
  await engine.start(createAdvance(runs.executions), CLAIMED_COLUMNS);
  const sweeping = stack.use(sweepRuns(runs));
  triggers.due.start((trigger) => fireDue(triggers, trigger), isAccepting);
  const releasing = stack.use(releaseQueues(triggers));
  // Nothing fires any more while runs are being drained.
  stack.use(triggers.due);
  const sweepingEvents = stack.use(sweepEvents(events));
  const ownEvents = stack.use(publishOwnEvents(events, (row) => readSubject(triggers, row)));
  stack.defer(() => void (isStopping = true));
  loops.add(...storageLoops, rates.usage.loop, ...notices.loops, ...auth.loops, ...edge.loops, ...engine.loops);
  loops.add(sweeping, triggers.due.loop, releasing.loop, sweepingEvents.loop, ownEvents.loop, listening, ...forgetting);
  return { handles, edge, metrics };
}

type Draining = { runs: Runs; graphql: Graphql; requests: UnderWay; log: Log };

/**
 * Lets no run go beyond its present step: steps under way get 10 s, and the next start resumes the rest. Meanwhile operations end,
 * waits with their runs. Then only what is closed after this uses the database.
 */
async function drain({ runs, graphql, requests, log }: Draining): Promise<void> {
  const { engine } = runs.executions;
  runs.executions.draining = true;
  const late = setTimeout(() => engine.interruptAll(), LIMITS.drainSeconds * 1000);
  await engine[Symbol.asyncDispose]();
  clearTimeout(late);
  runs.waits.end();
  const ended = Promise.all([requests.ended(), graphql.working.ended()]).then(() => true);
  if (await Promise.race([ended, sleep(OPERATIONS_MS, false, { ref: false })])) return;
  graphql.endAll(stopping());
  if (await Promise.race([ended, sleep(ANSWERS_MS, false, { ref: false })])) return;
  log.warn({ requests: requests.count, operations: graphql.working.count }, "work still under way is not waited for");
}

/** ADMIN_EMAIL creates the first owner; otherwise issues a link for whoever reads the server's output. */
export async function prepareOwner({ admin }: Config, auth: Auth, url: string): Promise<string | undefined> {
  if (admin) await createAdmin(auth, admin);
  if (!(await isEmpty(auth))) return undefined;
  return `${url}/#setup=${auth.setupLink.issue().token}`;
}
