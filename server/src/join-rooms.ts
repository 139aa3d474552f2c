/** Makes the rooms' handles, each from what it is given. Loaded while PostgreSQL starts (app.ts). */
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Approvals } from "./approvals/approvals.ts";
import { mailNotice } from "./approvals/mail-notice.ts";
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
import { createScripts } from "./scripts/scripts.ts";
import { compileWorkflow } from "./definition/program.ts";
import { EmbeddedEngine } from "./engine/embedded.ts";
import type { Engine } from "./engine/engine.ts";
import type { SqlEngineOptions } from "./engine/sql-engine.ts";
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
import { createMail } from "./mail/mail.ts";
import { createSendNow } from "./mail/send-now.ts";
import { sendQueued } from "./mail/send-queued.ts";
import { createMembers } from "./members/members.ts";
import { connectionsOf, namesOfConnections } from "./models/find-connection.ts";
import { createModels } from "./models/models.ts";
import { createMetrics, type Metrics } from "./metrics/metrics.ts";
import { createLlm } from "./llm/llm.ts";
import { createOutbound } from "./outbound/outbound.ts";
import { MAIL_RECIPIENTS_PER_DAY } from "./rates/plans.ts";
import { createRates } from "./rates/rates.ts";
import { openNotices } from "./realtime/notices.ts";
import { createAdvance } from "./execution/advance.ts";
import type { OtherParts } from "./execution/journal/part.ts";
import { CLAIMED_RUN, type ClaimedRun } from "./execution/journal/claimed-run.ts";
import { createDueCount } from "./engine/count-due.ts";
import { forgetKeys } from "./runs/forget-keys.ts";
import { createOpenApprovalsCount } from "./runs/read/count-open-approvals.ts";
import { createRuns } from "./runs/create-runs.ts";
import type { Runs } from "./runs/handle/runs.ts";
import { sweepRuns } from "./runs/sweep-runs.ts";
import { readValues } from "./secrets/read-values.ts";
import { keepRefreshToken, readRefreshToken } from "./secrets/refresh-tokens.ts";
import { createSecrets, type Secrets } from "./secrets/secrets.ts";
import type { Storage } from "./storage/open-storage.ts";
import { isUnavailable } from "./storage/pg-errors.ts";
import { createProbe } from "./storage/probe.ts";
import type { ReadSecrets } from "./execution/calls/authentication.ts";
import { createTokens } from "./execution/calls/oauth2-tokens.ts";
import { createConcealing, type Calling } from "./execution/calls/calling.ts";
import { ModelFiles } from "./execution/calls/model/files.ts";
import { createHttpCall } from "./execution/calls/http-call.ts";
import { createMcpCommands } from "./execution/calls/mcp/commands.ts";
import { McpFigures } from "./execution/calls/mcp/figures.ts";
import { ApiOperations } from "./execution/calls/openapi/find-operation.ts";
import { createMcpCall } from "./execution/calls/mcp/mcp-call.ts";
import { createTasks } from "./execution/tasks/kinds.ts";
import { forgetRunDrafts } from "./run-drafts/run-draft-store.ts";
import { fireDue } from "./triggers/schedule/fire-due.ts";
import type { Events } from "./events/events.ts";
import { sweepEvents } from "./events/sweep-events.ts";
import { publishOwnEvents } from "./events/publish-own-events.ts";
import { approvalNews, outboxPart } from "./events/outbox.ts";
import { failedRunPart, type FailedRuns } from "./triggers/failures/failed-run-part.ts";
import { mailFailures } from "./triggers/failures/mail-failures.ts";
import { FIRING_PARTS } from "./triggers/store/firing-parts.ts";
import { readSubject } from "./triggers/own-events.ts";
import { triggersOfDefinitions } from "./triggers/publish-triggers.ts";
import { releaseQueues } from "./triggers/firings/release-queues.ts";
import { forgetFirings } from "./triggers/forget-firings.ts";
import { createEventDoor } from "./triggers/listening/event-door.ts";
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
  openEngine?: (options: SqlEngineOptions<ClaimedRun>) => Engine<ClaimedRun>;
  /** Replaces the limit, in tests. */
  standstillSeconds?: number;
};

/** For operations that wait for nothing: a statement takes longer only if the database does not answer. */
const OPERATIONS_MS = 5_000;
const ANSWERS_MS = 1_000;
const WEB_FOLDER = path.join(import.meta.dirname, "../../web/dist");

/** Each step adds to what the ones before it opened. `stack` closes all of it. */
export async function joinRooms(
  options: JoinOptions,
  storage: Storage,
  listener: Listener,
  stack: AsyncDisposableStack,
): Promise<{ handles: Handles; edge: Edge; metrics: Metrics }> {
  const loops = new LoopWatch(options);
  const shared = { ...(await openShared(options, storage, stack)), storage, listener, loops };
  const withRuns = { ...shared, ...createWork(options, shared, stack) };
  const withHandles = { ...withRuns, ...createRooms(options, withRuns, stack) };
  const open = { ...withHandles, ...openEntry(options, withHandles, stack) };
  await startWork(options, open, stack);
  return open;
}

type Shared = Awaited<ReturnType<typeof openShared>> & { storage: Storage; listener: Listener; loops: LoopWatch };

/** The handles that many rooms are given. */
async function openShared(
  { config, clock, log, random }: JoinOptions,
  { database, dataFolder }: Storage,
  stack: AsyncDisposableStack,
) {
  const base = { database, clock, log };
  const secretKeys = await openSecretKeys(database, { configured: config.secretKey, dataFolder });
  const rates = stack.use(createRates(base));
  const expressions = stack.use(createExpressions({ log }));
  const scripts = stack.use(createScripts({ log }));
  const mail = createMail({
    ...base,
    random,
    own: config.mail,
    derive: secretKeys.derive,
    recipientsPerDay: MAIL_RECIPIENTS_PER_DAY,
  });
  const failedRuns: FailedRuns = { isOn: mail.transport !== undefined, look: () => {} };
  const outbound = stack.use(createOutbound({ allow: config.outboundAllow, clock, log }));
  const instanceId = newId<"instance">();
  const notices = stack.use(await openNotices({ ...base, instanceId }));
  const triggerMemory = createTriggerMemory({ ...base, derive: secretKeys.derive, notices });
  /** Set by `createRooms`. */
  const later: { events?: Events } = {};
  const eventDoor = createEventDoor({ ...base, memory: triggerMemory, events: () => later.events! });
  return {
    base,
    secretKeys,
    rates,
    mail,
    failedRuns,
    expressions,
    scripts,
    outbound,
    instanceId,
    notices,
    triggerMemory,
    later,
    eventDoor,
  };
}

type WithRuns = Shared & ReturnType<typeof createWork>;

/** Agents, their secrets, and what advances their runs. */
function createWork({ config, openEngine, random }: JoinOptions, shared: Shared, stack: AsyncDisposableStack) {
  const { base, secretKeys, rates, expressions, scripts, outbound, instanceId, notices, triggerMemory } = shared;
  const models = createModels({ ...base, derive: secretKeys.derive });
  const operator = createFirstOrganization(base.database);
  const llm = stack.use(
    createLlm({ ...base, own: config.llm, usage: rates.usage, budgets: rates.budgets, operator, outbound }),
  );
  const agents = createAgents({
    ...base,
    modelConnections: namesOfConnections(models, llm),
    mcpCommands: config.mcpStdio.allowed,
    check: expressions.check,
    checkScript: scripts.check,
    compile: compileWorkflow,
    notices,
    triggers: triggersOfDefinitions(triggerMemory),
  });
  const secrets = createSecrets({ ...base, derive: secretKeys.derive });
  const places = new Places({ shared: LIMITS.runsInMemory, own: LIMITS.runsInMemoryOwn });
  const delaySeconds = Histogram.ofSeconds();
  const engineOptions = { ...base, instanceId, places, delaySeconds, claimed: CLAIMED_RUN };
  const engine = openEngine ? openEngine(engineOptions) : new EmbeddedEngine(engineOptions);
  const calling = callingOf(outbound, base.clock, secrets);
  const mcpFigures = new McpFigures();
  const hasMail = shared.mail.transport !== undefined;
  const runs = createRuns({
    ...base,
    agents,
    engine,
    expressions,
    tasks: createTasks({
      email: createSendNow(shared.mail),
      scripts,
      calling,
      http: createHttpCall(calling),
      events: shared.eventDoor,
      operations: stack.use(new ApiOperations(calling)).find,
      mcp: createMcpCall(calling, createMcpCommands({ ...config.mcpStdio, clock: base.clock }), mcpFigures),
      models: {
        call: (...asked) => llm.call(...asked),
        isOperator: (organizationId) => llm.isOperator(organizationId),
        connectionOf: connectionsOf(models, llm),
        files: new ModelFiles(outbound, base.clock),
        readSecrets: calling.readSecrets,
        concealing: calling.concealing,
      },
    }),
    random,
    places,
    notices,
    hasSpace: shared.storage.space.hasSpace,
    usage: rates.usage,
    parts: partsOf(shared),
    approvalNews: approvalNews(triggerMemory.outbox, hasMail),
    slotFreed: triggerMemory.queues.runEnded,
  });
  const forgetting: Loop[] = [forgetKeys(runs), forgetRunDrafts(base), forgetApiKeys(base), forgetFirings(base)];
  for (const loop of forgetting) stack.use(loop);
  return { agents, secrets, models, operator, llm, mcpFigures, places, delaySeconds, engine, runs, forgetting };
}

/** The parts that the rooms above runs have written with them. */
const partsOf = ({ triggerMemory, failedRuns }: Shared): OtherParts => ({
  guards: FIRING_PARTS,
  followers: [outboxPart(triggerMemory.outbox, failedRuns.isOn), failedRunPart(failedRuns)],
});

/** The parts that every kind of call shares. */
function callingOf(outbound: Shared["outbound"], clock: Clock, secrets: Secrets): Calling {
  const readSecrets: ReadSecrets = (...asked) => readValues(secrets, ...asked);
  const tokens = createTokens(outbound, clock, refreshTokensOf(secrets));
  return { outbound, readSecrets, tokens, concealing: createConcealing() };
}

const refreshTokensOf = (secrets: Secrets): Parameters<typeof createTokens>[2] => ({
  read: (...asked) => readRefreshToken(secrets, ...asked),
  keep: (...given) => keepRefreshToken(secrets, ...given),
});

type WithHandles = WithRuns & ReturnType<typeof createRooms>;

/** The people, what starts runs by itself, and everything that resolvers are given. */
function createRooms({ config }: JoinOptions, withRuns: WithRuns, stack: AsyncDisposableStack) {
  const { base, secretKeys, rates, mail, notices, triggerMemory, agents, secrets, models, llm, runs, listener } =
    withRuns;
  const { clock, log } = base;
  const { url } = listener;
  const afterSetup = (owner: Acting): Promise<void> => publishDemo(auth, agents, owner);
  const auth: Auth = stack.use(
    createAuth({ ...base, secretKeys, defaultPlan: config.defaultPlan, afterSetup, notices }),
  );
  const { failedRuns } = withRuns;
  const triggers = createTriggers({ ...base, memory: triggerMemory, agents, runs, secrets, url, failedRuns });
  const { events } = triggers;
  withRuns.later.events = events;
  const listening = stack.use(triggerMemory.listeners.watch(clock));
  const members = stack.use(createMembers({ auth, mail, url, derive: secretKeys.derive }));
  const approvals: Approvals = { runs, auth, mail, linkKey: secretKeys.derive("approval links v1"), url };
  const runDrafts = { ...base, agents, models, llm };
  const handles: Handles = {
    runDrafts,
    auth,
    members,
    agents,
    runs,
    events,
    triggers,
    rates,
    secrets,
    models,
    clock,
    log,
  };
  return { handles, approvals, listening };
}

type Open = WithHandles & ReturnType<typeof openEntry>;

/** GraphQL, HTTP before it, and the figures of all. */
function openEntry({ config }: JoinOptions, withHandles: WithHandles, stack: AsyncDisposableStack) {
  const { base, outbound, places, delaySeconds, engine, runs, handles, operator, llm, mcpFigures, listener, loops } =
    withHandles;
  const { database } = base;
  const { hasSpace } = withHandles.storage.space;
  const { connections, entrance } = listener;
  const graphql = stack.use(createGraphql({ handles, isUnavailable }));
  const answers = createProbe(database);
  const stop = { isStopping: false };
  const isAccepting = (): boolean => !stop.isStopping && hasSpace();
  const isReady = async (): Promise<Readiness> => {
    const late = loops.late();
    return { isReady: isAccepting() && (await answers()) && late.length === 0, late };
  };
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
    memory: runs.executions.memory,
    loaded: runs.executions.loaded,
    places,
    engine,
    delaySeconds,
    commits: runs.executions.writer,
    pools: database.pools,
    outbound: outbound.figures,
    loops,
    llm: llm.figures,
    mcp: mcpFigures,
    mail: withHandles.mail.figures,
  });
  const edge = createEdge({
    ...config,
    ...handles,
    approvals: withHandles.approvals,
    graphql,
    connections,
    metrics,
    firstOrganization: operator,
    isUnavailable,
    entrance,
    backlog: database.backlog,
    webFolder: WEB_FOLDER,
    isReady,
    isStopping: () => stop.isStopping,
  });
  return { graphql, edge, metrics, stop, isAccepting };
}

/** Begins what goes on by itself: runs, schedules, sweeps. All end in the opposite order, before what they need. */
async function startWork(
  { log, standstillSeconds = LIMITS.standstillSeconds }: JoinOptions,
  open: Open,
  stack: AsyncDisposableStack,
): Promise<void> {
  const { storage, listener, edge, graphql, engine, runs, stop, isAccepting, loops } = open;
  const { auth, triggers, events } = open.handles;
  const advanced = (): Iterable<string> => runs.executions.loaded.keys();
  const beat = (): void => loops.look();
  const { instanceId, base } = open;
  const { connection } = base.database;
  stack.use(startWatchdog({ log, connection, instanceId, runs: advanced, standstillSeconds, beat }));
  // Closes the listener before what it needs, and waits for the edge's WebSockets. The outer disposal is for a start that fails.
  stack.defer(() => listener[Symbol.asyncDispose]());
  stack.use(edge);
  stack.defer(() => drain({ runs, graphql, requests: edge.working, log }));
  stack.defer(() => edge.leave());
  await engine.start(createAdvance(runs.executions));
  const sweeping = stack.use(sweepRuns(runs));
  triggers.due.start((trigger) => fireDue(triggers, trigger), isAccepting);
  const releasing = stack.use(releaseQueues(triggers));
  // Nothing fires any more while runs are being drained.
  stack.use(triggers.due);
  const sweepingEvents = stack.use(sweepEvents(events));
  const ownEvents = stack.use(
    publishOwnEvents(events, {
      read: (row) => readSubject(triggers, row),
      mail: (notice) => mailNotice(open.approvals, notice),
    }),
  );
  const failing = mailFailures({ mail: open.mail, url: listener.url }, open.failedRuns);
  if (failing) loops.add(stack.use(failing));
  const sendingMail = stack.adopt(sendQueued(open.mail), async (sending) => sending?.[Symbol.asyncDispose]());
  stack.defer(() => void (stop.isStopping = true));
  if (sendingMail) loops.add(sendingMail.loop);
  loops.add(
    ...storage.loops,
    open.rates.usage.loop,
    ...open.notices.loops,
    ...auth.loops,
    ...edge.loops,
    ...engine.loops,
  );
  loops.add(sweeping, triggers.due.loop, releasing.loop, sweepingEvents.loop, ownEvents.loop);
  loops.add(open.listening, ...open.forgetting);
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

/** ADMIN_EMAIL creates the first owner; otherwise issues a link for anyone who reads the server's output. */
export async function prepareOwner({ admin }: Config, auth: Auth, url: string): Promise<string | undefined> {
  if (admin) await createAdmin(auth, admin);
  if (!(await isEmpty(auth))) return undefined;
  return `${url}/#setup=${auth.setupLink.issue().token}`;
}
