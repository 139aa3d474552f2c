/** The room on a real database: the test answers its calls, and can lose or hold the database's answers. */
import { createAgents } from "../agents/agents.ts";
import { makeWorld } from "../agents/agents.testsuite.ts";
import { publishAgent } from "../agents/publish-agent.ts";
import { openAuth, quiet } from "../auth/handle/auth.testsuite.ts";
import type { Acting } from "../auth/caller.ts";
import { noNotices, type Notices } from "../realtime/notices.ts";
import { createExpressions } from "../expressions/expressions.ts";
import { compileWorkflow } from "../definition/program.ts";
import { createClaims, type Claims } from "../engine/claims.ts";
import { EmbeddedEngine } from "../engine/embedded.ts";
import type { Engine } from "../engine/engine.ts";
import { FIRING_PARTS } from "../triggers/store/firing-parts.ts";
import type { OtherParts } from "../execution/journal/part.ts";
import type { EventDoor } from "../execution/events/event-door.ts";
import { createConcealing } from "../execution/calls/calling.ts";
import { ModelFiles } from "../execution/calls/model/files.ts";
import { createTasks } from "../execution/tasks/kinds.ts";
import { realClock, type Clock } from "../lib/clock.ts";
import { newId, type AgentId } from "../lib/ids.ts";
import type { Json } from "../lib/json/json.ts";
import { Places } from "../fairness/places.ts";
import type { Charge } from "../fairness/fair-pool.ts";
import type { Database, Row } from "../storage/database.ts";
import { createAdvance } from "../execution/advance.ts";
import { CLAIMED_RUN, type ClaimedRun } from "../execution/journal/claimed-run.ts";
import { createRuns } from "./create-runs.ts";
import type { Runs } from "./handle/runs.ts";

/** How `call: http` with this body is answered. */
export type Answer = (body: Json) => Promise<Json> | Json;

export type TestRuns = {
  runs: Runs;
  caller: Acting;
  /** Publishes `do:` and its sibling keys. */
  agentOf(body: string): Promise<AgentId>;
  /** The calls made, in order. */
  calls: Json[];
  /** Takes runs as its engine does. */
  claims: Claims<ClaimedRun>;
} & AsyncDisposable;

/** An engine that executes, but advances only the runs that the test advances. */
export const idle: Engine<ClaimedRun> = {
  executing: true,
  loops: [],
  start: () => Promise.resolve(),
  wake: () => {},
  begin: () => undefined,
  interrupt: () => {},
  interruptAll: () => {},
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

const noEvents: EventDoor = {
  emit: () => Promise.reject(new Error("no event is published here")),
  expect: async () => 0,
  published: async () => [],
  signals: async () => [],
  tookSignals: async () => {},
  heard: async () => [],
  read: async () => [],
};

export type TestRunsOptions = {
  answer?: Answer;
  /** Used instead of a started embedded one. */
  engine?: Engine<ClaimedRun>;
  clock?: Clock;
  /** Kinds of task that the product does not have, and how definitions reach them. */
  tasks?: object;
  compile?: typeof compileWorkflow;
  notices?: Notices;
  parts?: OtherParts;
  events?: EventDoor;
};

export async function openRuns(
  database: Database,
  {
    answer = () => null,
    engine: given,
    clock = realClock,
    tasks = {},
    compile = compileWorkflow,
    notices = noNotices,
    events = noEvents,
    parts = { guards: FIRING_PARTS, followers: [] },
  }: TestRunsOptions = {},
): Promise<TestRuns> {
  const auth = openAuth(database);
  const { caller, project } = await makeWorld(auth);
  const expressions = createExpressions({ log: quiet });
  const agents = createAgents({
    database,
    clock,
    log: quiet,
    check: async () => undefined,
    compile,
  });
  const instanceId = newId<"instance">();
  const places = new Places({ shared: 100, own: 8 });
  const calls: Json[] = [];
  const claiming = { database, clock, instanceId, claimed: CLAIMED_RUN };
  const engine = given ?? new EmbeddedEngine({ ...claiming, log: quiet, places });
  const runs = createRuns({
    database,
    agents,
    clock,
    expressions,
    places,
    log: quiet,
    engine,
    tasks: {
      ...createTasks({
        scripts: { run: () => Promise.reject(new Error("no script is run here")) },
        calling: { readSecrets: async () => new Map(), concealing: createConcealing() },
        email: () => Promise.reject(new Error("no mail is sent here")),
        http: {
          readSecrets: async () => new Map(),
          async perform({ body = null }) {
            calls.push(body);
            return answer(body);
          },
        },
        operations: () => Promise.reject(new Error("no document is read here")),
        models: {
          call: () => Promise.reject(new Error("no model is asked here")),
          isOperator: async () => false,
          connectionOf: async () => undefined,
          files: new ModelFiles({ request: () => Promise.reject(new Error("no file is read here")) }, clock),
          readSecrets: async () => new Map(),
          concealing: createConcealing(),
        },
        events,
        mcp: {
          readSecrets: async () => new Map(),
          perform: async () => null,
          keeping() {
            return { ...this, [Symbol.dispose]: () => {} };
          },
        },
      }),
      ...tasks,
    },
    random: () => 0.5,
    notices,
    parts,
    hasSpace: () => true,
    usage: { run: () => {}, steps: () => {} },
  });
  await engine.start(createAdvance(runs.executions));
  let count = 0;
  return {
    runs,
    caller,
    calls,
    claims: createClaims(claiming),
    async agentOf(body) {
      const definition = `document: {dsl: '1.0.3', namespace: shop, name: agent-${++count}, version: '1.0.0'}\n${body}`;
      return (await publishAgent(agents, caller, { projectId: project.id, definition })).id;
    },
    async [Symbol.asyncDispose]() {
      runs.executions.draining = true;
      await runs.engine[Symbol.asyncDispose]();
      await expressions[Symbol.asyncDispose]();
      await auth[Symbol.asyncDispose]();
    },
  };
}

/** The same database, recording each statement: its text and how many rows it returned. */
export function noting(database: Database): Database & { noted: { text: string; rows: number }[] } {
  const noted: { text: string; rows: number }[] = [];
  const note = async (text: string, rows: Promise<Row[]>): Promise<Row[]> => {
    noted.push({ text, rows: (await rows).length });
    return rows;
  };
  return {
    ...database,
    noted,
    hot: (name, text, values) => note(text, database.hot(name, text, values)),
    query: (text, values) => note(text, database.query(text, values)),
    transaction: (work) => database.transaction((query) => work((text, values) => note(text, query(text, values)))),
  };
}

/** The fate of a hot-path statement: do not send it, or lose or hold its answer. */
/** A promise holds the answer back; a function does so once the answer is there. */
type Meddle = (name: string) => "refuse" | "lose" | Promise<unknown> | (() => Promise<unknown>) | undefined;

/** The same database; asks `meddle` about each statement until it is undefined. */
export function meddling(database: Database): Database & { meddle: Meddle | undefined } {
  const own = {
    ...database,
    meddle: undefined as Meddle | undefined,
    async hot(name: string, text: string, values: unknown[]): Promise<Row[]> {
      const meddled = own.meddle?.(name);
      if (meddled === "refuse") throw new Error("Connection terminated unexpectedly");
      const rows = await database.hot(name, text, values);
      if (meddled === "lose") throw new Error("Connection terminated unexpectedly");
      await (typeof meddled === "function" ? meddled() : meddled);
      return rows;
    },
  };
  return own;
}

/** How many bytes of their memory runs hold that was asked for since. */
export function charged({ executions: { memory } }: Runs): () => number {
  const charges: Charge[] = [];
  const open = memory.open.bind(memory);
  memory.open = (organizationId) => {
    const charge = open(organizationId);
    charges.push(charge);
    return charge;
  };
  return () => charges.reduce((sum, { amount }) => sum + amount, 0);
}

export const call = (name: string): string =>
  `{${name}: {call: http, with: {method: post, endpoint: 'http://127.0.0.1', body: ${name}}}}`;
