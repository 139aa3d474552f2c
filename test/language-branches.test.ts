/** Concurrency within a run: `fork`, and the items of `call: each` (docs/definitions.md). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decodeId } from "../server/src/lib/ids.ts";
import { start } from "./agents.ts";
import { expectInTime } from "./in-time.ts";
import { eventually, type Data } from "./client.ts";
import { startEndpoint } from "./endpoint.ts";
import { connectTo } from "./faults/audit.ts";
import { agentOf, readRun, runOf, stepsOf, until } from "./runs.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { startSink, type Sink } from "./sink.ts";

let server: SharedServer;
let sink: Sink;
beforeAll(async () => {
  [server, sink] = await Promise.all([sharedServer(), startSink()]);
});
afterAll(async () => {
  await Promise.all([server[Symbol.asyncDispose](), sink[Symbol.asyncDispose]()]);
});

const call = (ms: number): string => `{call: http, with: {method: post, endpoint: '${sink.url}/delay/${ms}'}}`;
const broken = "{raise: {error: {type: 'https://example.org/errors/broken', status: 418}}}";
const fork = (branches: string, more = ""): string =>
  `do: [{both: {fork: {${more}branches: [${branches}]}}}, {after: {set: {got: '\${ . }'}}}]`;
const each = (items: string, tasks: string, more = ""): string =>
  `do: [{all: {call: 'each:1.0.0@default', with: {in: '\${ ${items} }', item: one${more}, do: [${tasks}]}}}]`;
/** In the order in which the branches are written; they begin in any. */
const sortedStepsOf = (run: Data): string[] => stepsOf(run).toSorted();

describe("fork", () => {
  test("each branch has the task's input, all run at once (within 10 s together), the outputs stand in their order", async () => {
    const since = performance.now();
    const run = await runOf(
      server,
      fork(
        "{slow: {do: [{wait1: {wait: {milliseconds: 400}}}, {s: {set: {n: '${ .n + 1 }'}}}]}}, {quick: {set: {n: '${ .n + 2 }'}}}",
      ),
      { n: 1 },
    );
    expect(run.output).toEqual({ got: [{ n: 2 }, { n: 3 }] });
    expectInTime(performance.now() - since, 10_000);
  });

  test("a call that ends while all others wait is written as the run rests, in one commit", async () => {
    await using endpoint = await startEndpoint();
    endpoint.answer = "held";
    const ask = "{call: 'approval:1.0.0@default', with: {question: Shall we?}}";
    const pay = `{call: http, with: {method: post, endpoint: '${endpoint.url}'}}`;
    const id = await start(server, await agentOf(server, fork(`{ask: ${ask}}, {pay: ${pay}}`)));
    await expect.poll(() => endpoint.held).toBe(1);
    await expect.poll(async () => (await readRun(server, id)).approvals.nodes.length).toBe(1);
    endpoint.letGo("{}");
    expect(stepsOf(await until(server, id, "paused")).toSorted()).toEqual([
      "ask paused",
      "both running",
      "pay completed",
    ]);
    const database = await connectTo(server);
    const { rows } = await database.query(
      "select runs.xmin = steps.xmin as together from runs join steps on run_id = runs.id where run_id = $1 and name = 'pay'",
      [decodeId("run", id)],
    );
    await database.end();
    expect(rows).toEqual([{ together: true }]);
  });

  test("compete: the first to end wins, its output is the task's, the others are cancelled with their calls", async () => {
    const run = await runOf(server, fork(`{slow: ${call(60_000)}}, {quick: {set: {won: true}}}`, "compete: true, "));
    expect(run.output).toEqual({ got: { won: true } });
    expect(sortedStepsOf(run)).toEqual(["after completed", "both completed", "quick completed", "slow cancelled"]);
    // The endpoint hears of it a moment later, and long before it would have answered.
    await eventually(() => sink.summary().waiting === 0, 10_000);
  });

  test("a branch that fails leaves the others, and its error is the task's, for a catch around it", async () => {
    const body = `{both: {fork: {branches: [{slow: ${call(60_000)}}, {bad: ${broken}}]}}}`;
    const run = await runOf(
      server,
      `do: [{attempt: {try: [${body}], catch: {do: [{got: {set: {s: '\${ $error.status }'}}}]}}}]`,
    );
    expect(run.output).toEqual({ s: 418 });
    expect(sortedStepsOf(run)).toEqual([
      "attempt completed",
      "bad failed",
      "both failed",
      "got completed",
      "slow cancelled",
    ]);
    expect((await runOf(server, fork(`{a: ${broken}}, {b: ${broken}}`, "compete: true, "))).error.status).toBe(418);
  });

  test("exit ends a branch, end the run when the others have ended, a skipped one puts out its input", async () => {
    const some =
      "{a: {do: [{x: {set: {x: 1}, then: exit}}, {never: {set: {y: 1}}}]}}, {b: {if: '${ false }', set: {b: 1}}}";
    expect((await runOf(server, fork(some), { n: 1 })).output).toEqual({ got: [{ x: 1 }, { n: 1 }] });
    const ends = "{a: {set: {a: 1}, then: end}}, {b: {do: [{w: {wait: {milliseconds: 200}}}, {s: {set: {b: 2}}}]}}";
    const run = await runOf(server, fork(ends));
    expect(run).toMatchObject({ status: "completed", output: [{ a: 1 }, { b: 2 }] });
    expect(sortedStepsOf(run)).not.toContain("after completed");
  });
});

describe("each", () => {
  test("results in the order of the items, each on its item, no more at once than allowed", async () => {
    const later =
      "{nap: {wait: '${ {milliseconds: (300 - $one * 50)} }'}}, {r: {set: {n: '${ $one * 10 }', at: '${ $index }'}}}";
    const run = await runOf(server, each("[1, 2, 3, 4]", later, ", concurrency: 2"));
    expect(run.output).toEqual([1, 2, 3, 4].map((n) => ({ n: n * 10, at: n - 1 })));
    const naps = run.steps.filter(({ name }: Data) => name === "nap");
    const during = ({ startedAt }: Data): number =>
      naps.filter((other: Data) => other.startedAt <= startedAt && startedAt < other.finishedAt).length;
    expect(Math.max(...naps.map(during))).toBe(2);
  });

  test("an item that fails stops the others, or its error stands in its place", async () => {
    const picky = `{check: {switch: [{odd: {when: '\${ $one == 2 }', then: bad}}, {other: {then: good}}]}}, {good: {set: {n: '\${ $one }'}, then: exit}}, {bad: ${broken}}`;
    expect((await runOf(server, each("[1, 2, 3]", picky))).error).toMatchObject({ status: 418 });
    const run = await runOf(server, each("[1, 2, 3]", picky, ", onError: collect"));
    expect(run.output).toEqual([
      { output: { n: 1 } },
      { error: expect.objectContaining({ status: 418 }) },
      { output: { n: 3 } },
    ]);
  });

  test("of nothing is an empty list; what is no list is an error", async () => {
    for (const items of ["[]", "null"])
      expect((await runOf(server, each(items, "{s: {set: {a: 1}}}"))).output).toEqual([]);
    expect((await runOf(server, each("3", "{s: {set: {a: 1}}}"))).error.detail).toMatch(
      /must yield a list, but yields 3/,
    );
  });
});
