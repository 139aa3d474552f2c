/** Many runs cancelled at once, over the wire: which are, and that nothing is by leaving something out. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish, start } from "./agents.ts";
import { type Data } from "./client.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { agentOf, ENDED, ran, readRun, until } from "./runs.ts";

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

describe("cancelRuns", () => {
  const CANCEL = "mutation($runs: RunTarget!) { cancelRuns(input: {runs: $runs}) { cancelledCount } }";
  const cancel = async (runs: object): Promise<number> =>
    (await server.data(CANCEL, { runs })).cancelRuns.cancelledCount;
  const matching = (filter: object): Promise<number> => cancel({ filter });
  const waiting = (): Promise<string> => agentOf(server, "do:\n  - pause: {wait: {hours: 1}}\n");
  const isOpen = async (id: string): Promise<boolean> => !ENDED.includes((await readRun(server, id)).status);

  test("cancels the open runs that fit, answers how many, and leaves the others alone", async () => {
    const [mine, second, others] = [await waiting(), await waiting(), await waiting()];
    const ids = await Promise.all(Array.from({ length: 7 }, () => start(server, mine)));
    const more = await start(server, second);
    const other = await start(server, others);
    const done = await ran(server, await publish(server, "three"), { n: 1 });
    expect(await matching({ agentId: mine, status: ["paused", "completed"] })).toBe(0);
    expect(await matching({ agentId: mine, createdBefore: "2020-01-01T00:00:00Z" })).toBe(0);
    expect(await matching({ agentId: mine, createdFrom: "2999-01-01T00:00:00Z" })).toBe(0);
    expect(await matching({ agentId: mine, startedBy: { kind: ["user", "run"] } })).toBe(0);
    expect(await matching({ agentId: [] })).toBe(0);
    expect(await matching({ agentId: mine, startedBy: { kind: "key" } })).toBe(7);
    expect(await matching({ agentId: mine })).toBe(0);
    expect(await matching({ agentId: [mine, second] })).toBe(1);
    const { runs } = await server.data(
      `{ runs(filter: {agentId: ["${mine}", "${second}"], status: cancelled}) { nodes { id status } } }`,
    );
    expect(runs.nodes.map(({ id }: Data) => id).toSorted()).toEqual([...ids, more].toSorted());
    expect(await isOpen(other)).toBe(true);
    expect(await matching({ projectId: server.world.projectId })).toBeGreaterThanOrEqual(1);
    expect((await until(server, other, ...ENDED)).status).toBe("cancelled");
    expect((await until(server, done.id, ...ENDED)).status).toBe("completed");
    expect(await cancel({ all: true })).toBe(0);
  });

  test("cancels more runs than a page of a list has", async () => {
    const agentId = await waiting();
    const count = LIMITS.pageSize + 1;
    await Promise.all(Array.from({ length: count }, () => start(server, agentId)));
    expect(await matching({ agentId })).toBe(count);
  });

  test("cancels the runs that are named, and only those still open count", async () => {
    const agentId = await waiting();
    const [first, second, third] = await Promise.all([1, 2, 3].map(() => start(server, agentId)));
    const ended = await ran(server, await publish(server, "three"), { n: 1 });
    expect(await cancel({ runIds: [first, ended.id, first] })).toBe(1);
    expect(await cancel({ runIds: [first] })).toBe(0);
    expect(await cancel({ runIds: [] })).toBe(0);
    expect((await readRun(server, ended.id)).status).toBe("completed");
    const unknown = `run_${"0".repeat(26)}`;
    for (const wrong of [unknown, agentId, "", "x"]) {
      const { data, errors } = await server.graphql(CANCEL, { runs: { runIds: [second, wrong] } });
      expect({ data, errors }, wrong).toMatchObject({
        data: { cancelRuns: null },
        errors: [{ message: "Run not found", extensions: { code: "NOT_FOUND" } }],
      });
    }
    expect([await isOpen(second!), await isOpen(third!)]).toEqual([true, true]);
    expect(await cancel({ all: true })).toBeGreaterThanOrEqual(2);
    expect([await isOpen(second!), await isOpen(third!)]).toEqual([false, false]);
  });

  test("a request that names no runs is refused and cancels nothing", async () => {
    const id = await start(server, await waiting());
    const unset = `mutation($projectId: [ID!], $kind: [ActorKind!], $time: DateTime) { cancelRuns(input: {runs: {filter: {
      projectId: $projectId, startedBy: {kind: $kind}, createdFrom: $time}}}) { cancelledCount } }`;
    const refused: [string, Record<string, unknown>][] = [
      ["mutation($agentId: [ID!]) { cancelRuns(input: {runs: {filter: {agentId: $agentId}}}) { cancelledCount } }", {}],
      [unset, {}],
      [unset, { projectId: null, kind: null, time: null }],
      ...[
        { filter: {} },
        { filter: { agentId: null } },
        { filter: { startedBy: {} } },
        { filter: { startedBy: null, status: null, createdBefore: null } },
        { filter: { startedBy: { kind: null, id: null } } },
        { filter: null },
        { runIds: null },
        { all: false },
        { all: null },
        {},
        { all: true, filter: { agentId: null } },
        { all: true, runIds: [id] },
        { runIds: [id], filter: { status: ["running"] } },
      ].map((runs): [string, Record<string, unknown>] => [CANCEL, { runs }]),
    ];
    for (const [query, variables] of refused) {
      const { data, errors } = await server.graphql(query, variables);
      expect([data?.cancelRuns ?? null, errors?.[0]?.extensions.code], JSON.stringify(variables)).toEqual([
        null,
        "BAD_USER_INPUT",
      ]);
    }
    for (const runs of [
      "{}",
      "{filter: null}",
      "{filter: {}}",
      "{all: false}",
      `{all: true, runIds: ["${id}"]}`,
      "null",
    ]) {
      const { data, errors } = await server.graphql(
        `mutation { cancelRuns(input: {runs: ${runs}}) { cancelledCount } }`,
      );
      expect(data?.cancelRuns ?? null, runs).toBeNull();
      expect(errors![0]!.extensions.code, runs).toMatch(/^(BAD_USER_INPUT|GRAPHQL_VALIDATION_FAILED)$/);
    }
    expect((await server.graphql("mutation { cancelRuns(input: {}) { cancelledCount } }")).errors).toHaveLength(1);
    expect(await isOpen(id)).toBe(true);
  });
});
