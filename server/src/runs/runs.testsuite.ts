/** The room on a real database, with calls that the test answers, and a database whose answers it can lose or hold. */
import { createAgents } from "../agents/agents.ts";
import { makeWorld } from "../agents/agents.testsuite.ts";
import { publishAgent } from "../agents/publish-agent.ts";
import { openAuth, quiet } from "../auth/auth.testsuite.ts";
import type { Caller } from "../auth/caller.ts";
import { createExpressions } from "../definition/expressions/expressions.ts";
import { compileWorkflow } from "../definition/plan.ts";
import { EmbeddedEngine } from "../engine/embedded.ts";
import type { Engine } from "../engine/engine.ts";
import { realClock, type Clock } from "../lib/clock.ts";
import { newId, type AgentId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import { Places } from "../lib/places.ts";
import type { Database, Row } from "../storage/database.ts";
import { advanceRun } from "./advance-run.ts";
import { createRuns, type Runs } from "./runs.ts";

/** How `call: http` with this body is answered. */
export type Answer = (body: Json) => Promise<Json> | Json;

export type TestRuns = {
  runs: Runs;
  caller: Caller;
  /** Publishes `do:` and what stands beside it. */
  agentOf(body: string): Promise<AgentId>;
  /** What was called, in order. */
  calls: Json[];
} & AsyncDisposable;

/** An engine that executes, but advances only what the test advances itself. */
export const idle: Engine = {
  executing: true,
  start: () => Promise.resolve(),
  wake: () => {},
  interrupt: () => {},
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

/** `engine`: instead of an embedded one that is started. */
export async function openRuns(
  database: Database,
  { answer = () => null, engine, clock = realClock }: { answer?: Answer; engine?: Engine; clock?: Clock } = {},
): Promise<TestRuns> {
  const auth = openAuth(database);
  const { caller, project } = await makeWorld(auth);
  const expressions = createExpressions({ log: quiet });
  const agents = createAgents({
    database,
    clock,
    log: quiet,
    check: async () => undefined,
    compile: compileWorkflow,
  });
  const instanceId = newId<"instance">();
  const places = new Places({ shared: 100, own: 8 });
  const calls: Json[] = [];
  const runs = createRuns({
    database,
    agents,
    clock,
    expressions,
    instanceId,
    places,
    log: quiet,
    engine: engine ?? new EmbeddedEngine({ database, clock, log: quiet, instanceId, places }),
    calls: {
      http: {
        prepare: (values: JsonObject) => values,
        async perform({ body = null }) {
          calls.push(body);
          return answer(body);
        },
      },
    },
    random: () => 0.5,
    notices: { send: () => {} },
    hasSpace: () => true,
  });
  await runs.engine.start(advanceRun(runs));
  let count = 0;
  return {
    runs,
    caller,
    calls,
    async agentOf(body) {
      const definition = `document: {dsl: '1.0.3', namespace: shop, name: agent-${++count}, version: '1.0.0'}\n${body}`;
      return (await publishAgent(agents, caller, { projectId: project.id, definition })).id;
    },
    async [Symbol.asyncDispose]() {
      runs.draining = true;
      await runs.engine[Symbol.asyncDispose]();
      await expressions[Symbol.asyncDispose]();
      await auth[Symbol.asyncDispose]();
    },
  };
}

/** The same database, which notes each statement: its text, and how many rows it answered. */
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

/** What to do with the answer of a statement of the hot path: it has taken effect. */
type Meddle = (name: string) => "lose" | Promise<unknown> | undefined;

/** The same database; `meddle` is asked about each answer until it is undefined. */
export function meddling(database: Database): Database & { meddle: Meddle | undefined } {
  const own = {
    ...database,
    meddle: undefined as Meddle | undefined,
    async hot(name: string, text: string, values: unknown[]): Promise<Row[]> {
      const rows = await database.hot(name, text, values);
      const meddled = own.meddle?.(name);
      if (meddled === "lose") throw new Error("Connection terminated unexpectedly");
      await meddled;
      return rows;
    },
  };
  return own;
}

export const call = (name: string): string =>
  `{${name}: {call: http, with: {method: post, endpoint: 'http://127.0.0.1', body: ${name}}}}`;
