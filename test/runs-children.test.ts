/** A child that nobody waits for any more is cancelled, however its parent's step was left, and with it its own children. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import { agentOf, ENDED, readRun, stepsOf, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

const MINUTE_MS = 60_000;

let server: MovedServer;
beforeAll(async () => {
  server = await movedServer();
  await agentOf(server, "do: [{pause: {wait: PT5H}}]", "grandchild");
  await agentOf(server, `do: [{down: ${run("grandchild")}}]`, "child");
  await agentOf(
    server,
    "do: [{broken: {raise: {error: {type: 'https://example.org/errors/broken', status: 500}}}}]",
    "failing",
  );
});
afterAll(() => server[Symbol.asyncDispose]());

const run = (name: string, more = ""): string =>
  `{run: {workflow: {namespace: test, name: ${name}, version: latest, input: {}}${more}}}`;

/** The runs that a run has started, newest first. */
async function childrenOf(id: string): Promise<Data[]> {
  const { run: parent } = await server.data(
    "query($id: ID!) { run(id: $id) { children(first: 20) { nodes { id status steps(first: 1) { child { id status } } } } } }",
    { id },
  );
  return parent.children.nodes;
}

/** `child grandchild`: their states, newest first. */
const familyOf = async (id: string): Promise<string[]> =>
  (await childrenOf(id)).map(({ status, steps }) => `${status} ${steps[0]?.child?.status}`);

const begins = (id: string, children: number): Promise<unknown> =>
  eventually(async () => (await familyOf(id)).join() === Array(children).fill("running running").join());
const becomes = (id: string, ...states: string[]): Promise<unknown> =>
  eventually(async () => (await familyOf(id)).join() === states.join());

/** The parent itself goes on after `body`. */
const parentOf = (body: string): Promise<string> => agentOf(server, `do:\n${body}\n  - stay: {wait: PT5H}`);
const started = async (body: string): Promise<string> => start(server, await parentOf(body));

const forgiven = (task: string): string => `  - attempt: {try: [${task}], catch: {}}`;
const awaited = run("child").slice(1, -1);
const timeout = "timeout: {after: PT1M}";

describe("a timeout", () => {
  test.each([
    ["of the task", forgiven(`{invoke: {${awaited}, ${timeout}}}`)],
    ["of a list around it", forgiven(`{list: {do: [{inner: {do: [{invoke: {${awaited}}}]}}], ${timeout}}}`)],
    ["of branches", forgiven(`{all: {fork: {branches: [{a: {${awaited}}}, {b: {wait: PT4H}}]}, ${timeout}}}`)],
    ["of a loop", forgiven(`{loop: {for: {in: '\${ [1, 2] }'}, do: [{invoke: {${awaited}}}], ${timeout}}}`)],
    [
      "of a try",
      "  - one: {try: [{invoke: {" +
        awaited +
        "}}], catch: {retry: {limit: {attempt: {count: 1, duration: PT1M}}, when: '${ false }'}, do: [{gave: {set: {up: true}}}]}}",
    ],
  ])("%s", async (_name, body) => {
    const id = await started(body);
    await begins(id, 1);
    await server.clock.advance(MINUTE_MS);
    await becomes(id, "cancelled cancelled");
    expect(await readRun(server, id)).toMatchObject({ status: "running" });
  });

  test("of the run", async () => {
    const id = await start(server, await agentOf(server, `timeout: {after: PT1M}\ndo: [{invoke: {${awaited}}}]`));
    await begins(id, 1);
    await server.clock.advance(MINUTE_MS);
    await until(server, id, "failed");
    await becomes(id, "cancelled cancelled");
  });
});

test("each try has a child of its own, and leaves none behind", async () => {
  const id = await started(
    `  - again: {try: [{invoke: {${awaited}}}], catch: {retry: {limit: {attempt: {count: 2, duration: PT1M}}}, do: [{gave: {set: {up: true}}}]}}`,
  );
  await begins(id, 1);
  const [first] = await childrenOf(id);
  await server.clock.advance(MINUTE_MS);
  await becomes(id, "running running", "cancelled cancelled");
  const [second] = await childrenOf(id);
  expect(second!.id).not.toBe(first!.id);
  await server.clock.advance(MINUTE_MS);
  await becomes(id, "running running", ...Array(2).fill("cancelled cancelled"));
  await server.clock.advance(MINUTE_MS);
  await becomes(id, ...Array(3).fill("cancelled cancelled"));
  const read = async (): Promise<unknown> => {
    const { status, steps } = await readRun(server, id);
    return [status, steps.map(({ name }: Data) => name)];
  };
  await expect.poll(read).toEqual(["running", ["again", "invoke", "gave", "stay"]]);
});

test("what loses a competition, and what it has started", async () => {
  const id = await started(
    `  - race: {fork: {compete: true, branches: [{a: {${awaited}}}, {b: {do: [{invoke: {${awaited}}}]}}, {c: {wait: PT1M}}]}}`,
  );
  await begins(id, 2);
  await server.clock.advance(MINUTE_MS);
  await becomes(id, ...Array(2).fill("cancelled cancelled"));
  await expect
    .poll(async () => stepsOf(await readRun(server, id)).toSorted())
    .toEqual(
      ["a cancelled", "b cancelled", "c completed", "invoke cancelled", "race completed", "stay running"].toSorted(),
    );
});

test("the loser is cancelled also when the run ends with the competition", async () => {
  const race = `race: {fork: {compete: true, branches: [{a: {${awaited}}}, {c: {wait: PT1M}}]}}`;
  const id = await start(server, await agentOf(server, `do: [{${race}}]`));
  await begins(id, 1);
  await server.clock.advance(MINUTE_MS);
  await until(server, id, "completed");
  await becomes(id, "cancelled cancelled");
});

const fails =
  "do: [{nap: {wait: PT1M}}, {broken: {raise: {error: {type: 'https://example.org/errors/broken', status: 500}}}}]";

test("the other branches when one fails", async () => {
  const id = await started(forgiven(`{all: {fork: {branches: [{a: {${awaited}}}, {b: {${fails}}}]}}}`));
  await begins(id, 1);
  await server.clock.advance(MINUTE_MS);
  await becomes(id, "cancelled cancelled");
});

test("the other branches when another child fails; that one stays failed", async () => {
  const failing = run("failing").slice(1, -1);
  const id = await started(forgiven(`{all: {fork: {branches: [{a: {${awaited}}}, {b: {${failing}}}]}}}`));
  await eventually(async () => {
    const states = (await childrenOf(id)).map(({ status }) => status as string);
    return states.includes("cancelled") && states.includes("failed");
  });
});

test("the other items when one fails; what is collected leaves them alone", async () => {
  const each = (more: string): string =>
    forgiven(
      `{all: {call: 'each:1.0.0@default', with: {item: one, in: '\${ [1, 2, 3] }', concurrency: 3${more}, do: [{which: {switch: [{bad: {when: '\${ $one == 2 }', then: bad}}, {good: {then: good}}]}}, {good: {${awaited}, then: exit}}, {bad: {${fails}}}]}}}`,
    );
  const stops = await started(each(""));
  const collects = await started(each(", onError: collect"));
  await begins(stops, 2);
  await begins(collects, 2);
  await server.clock.advance(MINUTE_MS);
  await becomes(stops, ...Array(2).fill("cancelled cancelled"));
  await eventually(async () => stepsOf(await readRun(server, collects)).includes("broken failed"));
  await becomes(collects, ...Array(2).fill("running running"));
  await server.data("mutation($id: ID!) { cancelRun(runId: $id) { id } }", { id: collects });
});

test("a child that nobody waited for goes on", async () => {
  const id = await started(
    forgiven(`{list: {do: [{invoke: ${run("child", ", await: false")}}, {nap: {wait: PT4H}}], ${timeout}}}`),
  );
  await begins(id, 1);
  await server.clock.advance(MINUTE_MS);
  await eventually(async () => stepsOf(await readRun(server, id)).includes("list failed"));
  await becomes(id, "running running");
});

test("a child that ends at the same moment ends once, and its parent goes on either way", async () => {
  await agentOf(server, "do: [{nap: {wait: '${ {milliseconds: .ms} }'}}]", "quick");
  const agentId = await agentOf(
    server,
    "do: [{attempt: {try: [{invoke: {run: {workflow: {namespace: test, name: quick, version: latest}}, timeout: {after: PT0.2S}}}], catch: {do: [{late: {set: {late: true}}}]}}}]",
  );
  const won: Record<string, number> = {};
  let ms = 190;
  let [last, alike] = ["", 0];
  for (let count = 0; count < 40; count++) {
    const id = await start(server, agentId, { ms: Math.round(ms) });
    const { status, output } = await until(server, id, "completed", "failed", "cancelled");
    expect(status).toBe("completed");
    const child: Data = await eventually(async () =>
      (await childrenOf(id)).find((one) => ENDED.includes(one["status"])),
    );
    // One that ended by itself stays so, though its parent looked too late.
    if (!output.late) expect(child.status).toBe("completed");
    won[child.status] = (won[child.status] ?? 0) + 1;
    // To where either may win: that is far away on a slow machine, so it goes faster after a few that end alike.
    alike = child.status === last ? alike + 1 : 0;
    last = child.status;
    const by = 3 * 2 ** Math.max(0, alike - 2);
    ms = Math.min(200, Math.max(0, ms + (child.status === "cancelled" ? -by : by)));
  }
  expect(won["completed"]).toBeGreaterThan(5);
  expect(won["cancelled"]).toBeGreaterThan(5);
});

test("also when the process is killed after the step was left and before the child is cancelled", async () => {
  const id = await started(forgiven(`{invoke: {${awaited}, ${timeout}}}`));
  await begins(id, 1);
  const client = await connectTo(server);
  // Nobody can change the child for now.
  await client.query("begin");
  await client.query("select 1 from runs where parent_run_id is not null and status = 'running' for update");
  await server.clock.advance(MINUTE_MS);
  await eventually(async () => stepsOf(await readRun(server, id)).includes("invoke failed"));
  await server.kill();
  await client.query("rollback");
  await client.end();
  await server.restart();
  await becomes(id, "cancelled cancelled");
  expect(await readRun(server, id)).toMatchObject({ status: "running" });
});

test("a child that its parent does not wait for goes on when the parent is cancelled", async () => {
  const id = await started(`  - invoke: ${run("child", ", await: false")}\n  - other: ${run("child")}`);
  await begins(id, 2);
  await server.data("mutation($id: ID!) { cancelRun(runId: $id) { id } }", { id });
  await becomes(id, "cancelled cancelled", "running running");
});
