/** Counts, badges and changes over the wire: numbers instead of lists, and nothing twice. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish, start } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { decodeId, leastIdOf } from "../server/src/lib/ids.ts";
import { connectTo } from "./faults/audit.ts";
import { agentOf, decide, ENDED, ran, readRun, until } from "./runs.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Collects what a subscription sends from now on until `stop` is called. */
async function collect(
  query: string,
  variables: Record<string, unknown> = {},
): Promise<{ sent: Data[]; stop: () => unknown }> {
  const sent: Data[] = [];
  const opened: Data[] = [];
  const client = server.webSocket();
  for (const [asked, heard] of [
    [{ query, variables }, sent],
    [{ query: "subscription { badgesChanged { openRuns } }" }, opened],
  ] as const)
    client.subscribe<Data>(asked, {
      next: ({ data }) => void heard.push(Object.values(data as object)[0]),
      error: () => {},
      complete: () => {},
    });
  // The last one's first value says that both are open.
  await eventually(() => opened.length > 0);
  return { sent, stop: () => client.dispose() };
}

describe("runCount", () => {
  const count = async (filter: object | null): Promise<Data> =>
    (await server.data("query($filter: RunFilter) { runCount(filter: $filter) { value isExact } }", { filter }))
      .runCount;

  test("counts exactly up to 1,000, estimates above, and follows every filter", async () => {
    const [few, many] = [
      await agentOf(server, "do: [{a: {set: {a: 1}}}]"),
      await agentOf(server, "do: [{a: {set: {a: 1}}}]"),
    ];
    for (let n = 0; n < 3; n++) await ran(server, few);
    const { id } = await ran(server, many);
    expect(await count({ agentId: few })).toEqual({ value: 3, isExact: true });
    expect(await count({ agentId: [few, many], status: ["completed"] })).toEqual({ value: 4, isExact: true });
    expect(await count({ agentId: [few, many], status: ["failed"] })).toEqual({ value: 0, isExact: true });
    expect(await count({ agentId: [] })).toEqual({ value: 0, isExact: true });
    expect(await count({ agentId: few, createdBefore: "2020-01-01T00:00:00Z" })).toEqual({ value: 0, isExact: true });
    const all = await count(null);
    expect(all.isExact).toBe(true);
    const client = await connectTo(server);
    /** `time`: when they are created, in ms; by default when the newest run was. */
    const copy = (runs: number, time?: number): Promise<unknown> =>
      client.query(
        `insert into runs (id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, input,
           output, created_at, started_at, finished_at, revision, progress, epoch, wake_seq)
         select overlay(coalesce($2, left(id::text, 13)) || substr(id::text, 14)
           placing lpad(to_hex(number), 12, '0') from 25)::uuid, organization_id, project_id, agent_id,
           version, status, started_by_kind, started_by_id, input, output, created_at, started_at, finished_at, revision,
           progress, epoch, wake_seq
           from (select * from runs where agent_id = (select agent_id from runs order by id desc limit 1) order by id desc limit 1) one,
             generate_series(1, $1::int) as number on conflict do nothing`,
        [runs, time === undefined ? null : leastIdOf(time).slice(0, 13)],
      );
    expect((await readRun(server, id)).status).toBe("completed");
    await copy(999);
    expect(await count({ agentId: many })).toEqual({ value: 1_000, isExact: true });
    await copy(5_000);
    // Whatever PostgreSQL takes for likely before it has looked: it is more than was counted.
    const unlikely = {
      agentId: many,
      projectId: server.world.projectId,
      startedBy: { kind: "key" },
      status: ["completed"],
    };
    const sure = await count(unlikely);
    expect([sure.value > 1_000, sure.isExact]).toEqual([true, false]);
    await client.query("analyze runs");
    for (const filter of [{ agentId: many }, { agentId: [many, few] }, { status: ["completed"] }, null]) {
      const { value, isExact } = await count(filter);
      expect(isExact).toBe(false);
      expect(value).toBeGreaterThan(4_000);
      expect(value).toBeLessThan(7_000);
    }
    expect(await count({ agentId: few })).toEqual({ value: 3, isExact: true });
    const minute = 60_000;
    const later = Date.parse((await readRun(server, id)).createdAt) + 2 * minute;
    await copy(3_000, later);
    await client.query("analyze runs");
    await client.end();
    const between = new Date(later - minute).toISOString();
    const [since, before] = [{ createdFrom: between }, { createdBefore: between }];
    for (const [filter, least, most] of [
      [{ agentId: many, ...since }, 2_000, 4_000],
      [{ agentId: many, ...before }, 5_000, 7_000],
    ] as const) {
      const { value } = await count(filter);
      expect(value).toBeGreaterThan(least);
      expect(value).toBeLessThan(most);
    }
  });
});

describe("badges", () => {
  test("count what is open, are sent first and whenever they change, and only then", async () => {
    const other = await server.data(
      'mutation { createProject(input: {handle: "elsewhere", name: "Elsewhere"}) { id } }',
    );
    const BADGES = "query($projectId: ID) { badges(projectId: $projectId) { openRuns openApprovals } }";
    const badges = async (projectId?: string): Promise<Data> => (await server.data(BADGES, { projectId })).badges;
    const before = await badges();
    const { projectId } = server.world;
    const all = await collect("subscription { badgesChanged { openRuns openApprovals } }");
    const mine = await collect("subscription($id: ID) { badgesChanged(projectId: $id) { openRuns openApprovals } }", {
      id: projectId,
    });
    const theirs = await collect("subscription($id: ID) { badgesChanged(projectId: $id) { openRuns openApprovals } }", {
      id: other.createProject.id,
    });
    await eventually(() => all.sent.length > 0 && mine.sent.length > 0 && theirs.sent.length > 0);
    expect(all.sent).toEqual([before]);
    const agentId = await publish(server, "approve");
    const id = await start(server, agentId);
    await until(server, id, "paused");
    const open = { openRuns: before.openRuns + 1, openApprovals: before.openApprovals + 1 };
    expect(await badges()).toEqual(open);
    expect(await badges(projectId)).toEqual(open);
    expect(await badges(other.createProject.id)).toEqual({ openRuns: 0, openApprovals: 0 });
    // Each at its own time: what comes and goes in between is not told.
    const say = (badge: Data): Promise<unknown> =>
      eventually(() => [all, mine].every(({ sent }) => JSON.stringify(sent.at(-1)) === JSON.stringify(badge)));
    await say(open);
    await decide(server, id, "approve", { answer: { costCentre: "office" } });
    await until(server, id, ...ENDED);
    expect(await badges()).toEqual(before);
    await say(before);
    expect(mine.sent.length).toBeGreaterThan(2);
    await Promise.all([all.stop(), mine.stop(), theirs.stop()]);
    for (const { sent } of [all, mine]) sent.forEach((one, at) => at > 0 && expect(one).not.toEqual(sent[at - 1]));
    expect(theirs.sent).toEqual([{ openRuns: 0, openApprovals: 0 }]);
  });

  test("say at most 1,000, also when no state has so many", async () => {
    const agentId = await agentOf(server, "do: [{a: {set: {a: 1}}}]");
    const { id } = await ran(server, agentId);
    const client = await connectTo(server);
    const runId = decodeId("run", id);
    await client.query(
      `insert into runs (id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, input,
         created_at, revision, progress, epoch, wake_seq)
       select overlay(id::text placing lpad(to_hex(number), 12, '0') from 25)::uuid, organization_id, project_id, agent_id,
         version, case when number % 2 = 0 then 'pending' else 'paused' end, started_by_kind, started_by_id, input,
         created_at, revision, progress, epoch, wake_seq
         from runs, generate_series(1, 1200) as number where id = $1`,
      [runId],
    );
    const BADGES = "query($id: ID) { all: badges { openRuns } mine: badges(projectId: $id) { openRuns } }";
    const found = await server.data(BADGES, { id: server.world.projectId });
    await client.query("delete from runs where agent_id = (select agent_id from runs where id = $1) and id <> $1", [
      runId,
    ]);
    await client.end();
    expect(found).toEqual({ all: { openRuns: 1_000 }, mine: { openRuns: 1_000 } });
  });
});

test("runsChanged sends a run again only if what is selected has changed", async () => {
  const agentId = await publish(server, "slow");
  const narrow = await collect("subscription($a: ID) { runsChanged(agentId: $a) { id status } }", { a: agentId });
  const wide = await collect("subscription($a: ID) { runsChanged(agentId: $a) { id status revision } }", {
    a: agentId,
  });
  const ids = [await start(server, agentId), await start(server, agentId)];
  for (const id of ids) await until(server, id, ...ENDED);
  await eventually(() =>
    [narrow, wide].every(({ sent }) => sent.filter(({ status }) => status === "completed").length === 2),
  );
  await Promise.all([narrow.stop(), wide.stop()]);
  for (const id of ids) {
    const of = ({ sent }: { sent: Data[] }): Data[] => sent.filter((run) => run.id === id);
    expect(of(wide).length).toBeGreaterThan(4);
    const statuses = of(narrow).map(({ status }) => status);
    expect(statuses).toEqual([...new Set(statuses)]);
    expect(statuses.at(-1)).toBe("completed");
  }
});

test("agentsChanged sends an agent that is created, saved, published, paused or limited, and of a project only its own", async () => {
  const other = await server.data('mutation { createProject(input: {handle: "far", name: "Far"}) { id } }');
  const AGENTS =
    "subscription($p: ID) { agentsChanged(projectId: $p) { id handle status version concurrency draft { revision } } }";
  const mine = await collect(AGENTS, { p: server.world.projectId });
  const theirs = await collect(AGENTS, { p: other.createProject.id });
  const definition = (version: string): string =>
    `document: {dsl: '1.0.3', namespace: test, name: watched, version: '${version}'}\ndo: [{a: {set: {a: 1}}}]\n`;
  const newest = (): Data => mine.sent.findLast(({ handle }) => handle === "watched");
  const sees = (wanted: object): Promise<unknown> =>
    eventually(() => newest() && JSON.stringify({ ...newest(), ...wanted }) === JSON.stringify(newest()));
  const change = (query: string, input: object): Promise<Data> => server.data(query, { input });
  await change("mutation($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { id } }", {
    projectId: server.world.projectId,
    definition: definition("1.0.0"),
  });
  await sees({ status: "draft", version: "1.0.0" });
  const { publishAgent } = await change("mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }", {
    projectId: server.world.projectId,
    definition: definition("1.1.0"),
  });
  await sees({ status: "active", version: "1.1.0" });
  await change("mutation($input: SetAgentLimitInput!) { setAgentLimit(input: $input) { id } }", {
    agentId: publishAgent.id,
    concurrency: 3,
  });
  await sees({ concurrency: 3 });
  await change("mutation($input: SetAgentStatusInput!) { setAgentStatus(input: $input) { id } }", {
    agentId: publishAgent.id,
    status: "archived",
  });
  await sees({ status: "archived" });
  await Promise.all([mine.stop(), theirs.stop()]);
  expect(theirs.sent).toEqual([]);
});

test("the newest runs of many agents are one list each, with or without a filter, page by page", async () => {
  const agents = await Promise.all([1, 2, 3].map(() => agentOf(server, "do: [{a: {set: {a: 1}}}]")));
  const runs = new Map<string, string[]>(agents.map((id) => [id, []]));
  for (let n = 0; n < 5; n++) for (const id of agents.slice(0, 2)) runs.get(id)!.unshift((await ran(server, id)).id);
  const { agentsConnection } = await server.data(
    `{ agentsConnection(first: 3) { nodes { id
         newest: runs(first: 2) { nodes { id status createdAt finishedAt } pageInfo { hasNextPage endCursor } }
         all: runs { nodes { id } pageInfo { hasNextPage } } 
         none: runs(filter: {status: failed}) { nodes { id } } } } }`,
  );
  for (const { id, newest, all, none } of agentsConnection.nodes) {
    const ids = runs.get(id)!;
    expect(newest.nodes.map((run: Data) => run.id)).toEqual(ids.slice(0, 2));
    expect(newest.pageInfo.hasNextPage).toBe(ids.length > 2);
    expect(all).toEqual({ nodes: ids.map((one) => ({ id: one })), pageInfo: { hasNextPage: false } });
    expect(none.nodes).toEqual([]);
    if (ids.length === 0) continue;
    const { agent } = await server.data(
      "query($id: ID!, $after: String, $filter: RunFilter) { agent(id: $id) { runs(first: 2, after: $after, filter: $filter) { nodes { id } } } }",
      { id, after: newest.pageInfo.endCursor, filter: { agentId: agents, status: ["completed"] } },
    );
    expect(agent.runs.nodes.map((run: Data) => run.id)).toEqual(ids.slice(2, 4));
    const others = { filter: { agentId: agents.filter((one) => one !== id) } };
    const { agent: empty } = await server.data(
      "query($id: ID!, $filter: RunFilter) { agent(id: $id) { runs(filter: $filter) { nodes { id } } } }",
      { id, ...others },
    );
    expect(empty.runs.nodes).toEqual([]);
  }
});
