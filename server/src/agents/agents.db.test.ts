import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { shortest } from "../../../test/client.ts";
import type { TestAuth } from "../auth/handle/auth.testsuite.ts";
import { ownerCaller } from "../auth/caller.ts";
import { newId, type AgentId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { allOf } from "../lib/reach.ts";
import type { Database } from "../storage/database.ts";
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { definitionOf, makeWorld, openAgents, startAgents, type Publish, type World } from "./agents.testsuite.ts";
import { Loaders } from "../graphql/context/loaders.ts";
import type { Handles } from "../graphql/context/rooms.ts";
import { listAgents, pageOfAgents, readAgents } from "./list-agents.ts";
import { publishAgent } from "./publish-agent.ts";
import { publishDemo } from "./publish-demo.ts";
import { published, readAgent } from "./published.ts";
import { setAgentStatus } from "./set-agent-status.ts";
import { validateDefinition } from "./validate-definition.ts";
import { readSource } from "./version-store.ts";
import { listVersions, readSources } from "./versions.ts";

const stack = new AsyncDisposableStack();
let database: Database;
let auth: TestAuth;
let agents: Agents;
let publish: Publish;

beforeAll(async () => {
  ({ database, auth, agents, publish } = stack.use(await startAgents()));
});
afterAll(() => stack.disposeAsync());

const versionsOf = async ({ caller }: World, id: AgentId): Promise<string[]> =>
  (await listVersions(agents, caller.organizationId, id, { first: 100 })).items.map(({ version }) => version);

describe("publishing", () => {
  test("makes the agent at first, then new versions of it", async () => {
    const world = await makeWorld(auth);
    const first = await publish(world, { title: "Order intake" });
    expect(first).toEqual({
      id: first.id,
      organizationId: world.caller.organizationId,
      projectId: world.project.id,
      handle: "intake",
      name: "Order intake",
      description: null,
      status: "active",
      publishedVersion: "1.0.0",
      draftVersion: null,
      concurrencyLimit: null,
      createdAt: new Date(auth.clock.now()),
      updatedAt: new Date(auth.clock.now()),
    });
    auth.clock.pass(1_000);
    const second = await publish(world, { version: "1.1.0", title: "Orders" });
    expect(second).toEqual({
      ...first,
      name: "Orders",
      publishedVersion: "1.1.0",
      updatedAt: new Date(auth.clock.now()),
    });
    expect(await versionsOf(world, first.id)).toEqual(["1.1.0", "1.0.0"]);
  });

  test("the same text again changes nothing, or goes back to that version and nothing else", async () => {
    const world = await makeWorld(auth);
    const first = await publish(world);
    auth.clock.pass(1_000);
    expect(await publish(world)).toEqual(first);
    await publish(world, { version: "2.0.0", value: 2 });
    await setAgentStatus(agents, world.caller, { agentId: first.id, status: "paused" });
    auth.clock.pass(1_000);
    const back = await publish(world);
    expect(back).toEqual({ ...first, status: "paused", updatedAt: new Date(auth.clock.now()) });
    expect(await versionsOf(world, first.id)).toEqual(["2.0.0", "1.0.0"]);
  });

  test("a version with another text is CONFLICT and names it", async () => {
    const world = await makeWorld(auth);
    const first = await publish(world);
    await expect(publish(world, { value: 2 })).rejects.toMatchObject({
      code: "CONFLICT",
      message: "version 1.0.0 of the agent intake is already published with another text: raise the version",
    });
    expect(await readAgent(agents, world.caller, first.id)).toEqual(first);
  });

  test("the namespace must be the project's handle, and both are named", async () => {
    const world = await makeWorld(auth);
    await expect(publish(world, { namespace: "other" })).rejects.toMatchObject({
      code: "BAD_USER_INPUT",
      message: expect.stringMatching(/other.*shop/),
      details: { fields: [{ path: "input.definition/document/namespace", code: "invalid" }] },
    });
    expect(await listAgents(agents, world.caller)).toEqual([]);
  });

  test("every problem of the text is told with its place, by publish and by validate alike", async () => {
    const { caller, project } = await makeWorld(auth);
    const definition = definitionOf({ version: "one" }).replace("set:", "sett:");
    const { valid, problems } = await validateDefinition(agents, caller, { definition });
    expect(valid).toBe(false);
    expect(problems.length).toBeGreaterThanOrEqual(2);
    expect(problems[0]).toMatchObject({ path: "/document/version", line: 5, column: 12 });
    const refusal = await publishAgent(agents, caller, { projectId: project.id, definition }).catch(
      (error: unknown) => error,
    );
    expect(refusal).toMatchObject({
      code: "BAD_USER_INPUT",
      details: {
        fields: problems.map(({ path, line, column, message }) => ({
          path: `input.definition${path}`,
          code: "invalid",
          message,
          line,
          column,
        })),
      },
    });
    expect(await validateDefinition(agents, caller, { definition: definitionOf() })).toEqual({
      valid: true,
      problems: [],
    });
  });

  test("an expression that jq refuses is a problem", async () => {
    const { caller, project } = await makeWorld(auth);
    const strict = openAgents(auth, { check: async () => ({ message: "unexpected end", offset: 0 }) });
    const definition = definitionOf().replace("n: 1", 'n: "${ .a + }"');
    await expect(publishAgent(strict, caller, { projectId: project.id, definition })).rejects.toMatchObject({
      code: "BAD_USER_INPUT",
      details: { fields: [{ message: expect.stringContaining("unexpected end") }] },
    });
  });

  test.each([
    ["nothing", ""],
    ["space", " \n\t"],
    ["a number", "1"],
    ["a NUL", "document: \u0000"],
    ["a lone surrogate", "document: \ud800"],
    ["a megabyte", "x".repeat(1_000_000)],
    ["brackets", "[".repeat(100_000)],
    ["an alias of itself", "a: &a [*a]"],
    ["a title with a NUL", definitionOf({ title: "a\u0000b" })],
    ["a title with a lone surrogate", definitionOf({ title: "a\ud800b" })],
    ["an endless title", definitionOf({ title: "x".repeat(LIMITS.nameCharacters + 1) })],
    ["an endless version", definitionOf({ version: `1.0.0-${"a".repeat(1_000)}` })],
  ])("%s is refused within 1 s and leaves nothing", async (_, definition) => {
    const { caller, project } = await makeWorld(auth);
    const publishing = (): Promise<void> =>
      expect(publishAgent(agents, caller, { projectId: project.id, definition })).rejects.toMatchObject({
        code: "BAD_USER_INPUT",
      });
    expect(await shortest(1_000, publishing)).toBeLessThan(1_000);
    expect(await listAgents(agents, caller)).toEqual([]);
  });

  test("ten at once of one new agent: one agent, each version once", async () => {
    const world = await makeWorld(auth);
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, index) => publish(world, { version: `1.0.${index % 5}` })),
    );
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect((await versionsOf(world, made[0]!.id)).toSorted()).toEqual(["1.0.0", "1.0.1", "1.0.2", "1.0.3", "1.0.4"]);
  });

  test("ten at once of one version with ten texts: one gets it, the others are told", async () => {
    const world = await makeWorld(auth);
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, (_, value) => publish(world, { value })));
    const codes = outcomes.map((outcome) =>
      outcome.status === "fulfilled" ? "made" : (outcome.reason as { code: string }).code,
    );
    expect(codes.toSorted()).toEqual([...Array(9).fill("CONFLICT"), "made"]);
    const winner = codes.indexOf("made");
    const [agent] = await listAgents(agents, world.caller);
    expect(await versionsOf(world, agent!.id)).toEqual(["1.0.0"]);
    const source = await readSource(database.query, world.caller.organizationId, agent!.id, "1.0.0");
    expect(source).toEqual(definitionOf({ value: winner }));
  });

  test("onto an archived agent is CONFLICT", async () => {
    const world = await makeWorld(auth);
    const { id: agentId } = await publish(world);
    await setAgentStatus(agents, world.caller, { agentId, status: "archived" });
    await expect(publish(world, { version: "2.0.0" })).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await versionsOf(world, agentId)).toEqual(["1.0.0"]);
    await setAgentStatus(agents, world.caller, { agentId, status: "active" });
    expect((await publish(world, { version: "2.0.0" })).id).toBe(agentId);
  });

  test("into another organization's project is NOT_FOUND like into one that is not there", async () => {
    const [ada, grace] = [await makeWorld(auth), await makeWorld(auth)];
    const refusals: unknown[] = [];
    for (const projectId of [ada.project.id, newId<"project">()]) {
      const request = { projectId, definition: definitionOf() };
      refusals.push(await publishAgent(agents, grace.caller, request).catch((error: unknown) => error));
    }
    expect(refusals[0]).toEqual(refusals[1]);
    expect(refusals[0]).toMatchObject({ code: "NOT_FOUND", message: "Project not found" });
  });
});

describe("status", () => {
  test("goes between active, paused and archived, and to itself without a change", async () => {
    const world = await makeWorld(auth);
    const { id: agentId } = await publish(world);
    for (const status of ["paused", "active", "archived", "paused", "archived", "active"] as const) {
      auth.clock.pass(1_000);
      const changed = await setAgentStatus(agents, world.caller, { agentId, status });
      expect(changed).toMatchObject({ status, updatedAt: new Date(auth.clock.now()) });
      expect((await readAgent(agents, world.caller, agentId))!.status).toBe(status);
      auth.clock.pass(1_000);
      expect(await setAgentStatus(agents, world.caller, { agentId, status })).toEqual(changed);
    }
    await expect(setAgentStatus(agents, world.caller, { agentId, status: "draft" })).rejects.toMatchObject({
      code: "CONFLICT",
      message: "a published agent cannot be a draft again: pause or archive it",
    });
  });

  test("another organization's agent is NOT_FOUND like one that is not there", async () => {
    const [ada, grace] = [await makeWorld(auth), await makeWorld(auth)];
    const { id } = await publish(ada);
    const refusals: unknown[] = [];
    for (const agentId of [id, newId<"agent">()]) {
      refusals.push(
        await setAgentStatus(agents, grace.caller, { agentId, status: "paused" }).catch((error: unknown) => error),
      );
    }
    expect(refusals[0]).toEqual(refusals[1]);
    expect(refusals[0]).toMatchObject({ code: "NOT_FOUND", message: "Agent not found" });
    expect((await readAgent(agents, ada.caller, id))!.status).toBe("active");
  });
});

describe("lists", () => {
  test("by name without archived ones, in a project or in all", async () => {
    const world = await makeWorld(auth);
    for (const name of ["c", "a", "b"]) await publish(world, { name, title: `Agent ${name}` });
    const [, b] = await listAgents(agents, world.caller, { projectId: world.project.id });
    await setAgentStatus(agents, world.caller, { agentId: b!.id, status: "archived" });
    expect((await listAgents(agents, world.caller)).map(({ handle }) => handle)).toEqual(["a", "c"]);
    const other = await makeWorld(auth);
    expect(await listAgents(agents, other.caller)).toEqual([]);
    for (const projectId of [world.project.id, newId<"project">()]) {
      await expect(listAgents(agents, other.caller, { projectId })).rejects.toMatchObject({
        code: "NOT_FOUND",
        message: "Project not found",
      });
      const found = await pageOfAgents(agents, other.caller, { first: 1 }, { projectId: [projectId] });
      expect(found.items).toEqual([]);
    }
  });

  test("a list has at most 1,000 agents", async () => {
    const world = await makeWorld(auth);
    await database.query(
      `insert into agents (organization_id, id, project_id, handle, name, status, created_at, updated_at)
       select $1, gen_random_uuid(), $2, 'agent-' || number, 'Agent', 'draft', $4, $4 from generate_series(1, $3::int) number`,
      [world.caller.organizationId, world.project.id, LIMITS.agentsListed + 1, new Date(auth.clock.now())],
    );
    expect(await listAgents(agents, world.caller)).toHaveLength(LIMITS.agentsListed);
  });

  test("pages newest first, by status", async () => {
    const world = await makeWorld(auth);
    const made: Agent[] = [];
    for (const name of ["a", "b", "c", "d"]) made.push(await publish(world, { name }));
    await setAgentStatus(agents, world.caller, { agentId: made[1]!.id, status: "archived" });
    const page = (after: AgentId | undefined, filter = {}): Promise<[string, boolean]> =>
      pageOfAgents(agents, world.caller, { first: 2, ...(after && { after }) }, filter).then(
        ({ items, hasNextPage }) => [items.map(({ handle }) => handle).join(""), hasNextPage],
      );
    expect(await page(undefined)).toEqual(["dc", true]);
    expect(await page(made[2]!.id)).toEqual(["ba", false]);
    expect(await page(undefined, { status: ["active"], projectId: [world.project.id] })).toEqual(["dc", true]);
    expect(await page(made[2]!.id, { status: ["active"] })).toEqual(["a", false]);
    expect(await page(undefined, { status: ["archived"] })).toEqual(["b", false]);
    expect(await page(undefined, { status: [] })).toEqual(["", false]);
    await expect(pageOfAgents(agents, world.caller, { first: 0 })).rejects.toMatchObject({ code: "BAD_USER_INPUT" });
  });

  test("a text that no agent has is looked for in 10,000 within half a second", async () => {
    const world = await makeWorld(auth);
    await database.query(
      `insert into agents (organization_id, id, project_id, handle, name, status, draft, draft_revision, draft_saved_at,
          draft_saved_by_kind, created_at, updated_at)
        select $1, gen_random_uuid(), $2, 'agent-' || n, 'Agent of department ' || n, 'draft',
          (select string_agg(md5(n || ' ' || m), '') from generate_series(1, 48) m), 1, now(), 'system', now(), now()
          from generate_series(1, 10000) n`,
      [world.caller.organizationId, world.project.id],
    );
    const find = async (text: string): Promise<number> =>
      (await pageOfAgents(agents, world.caller, { first: 50 }, { text })).items.length;
    await find("warm");
    const finding = async (): Promise<void> => expect(await find("nobody has this")).toBe(0);
    expect(await shortest(500, finding)).toBeLessThan(500);
    expect(await find("DEPARTMENT 9999")).toBe(1);
  });

  test("versions page newest first, also those of one moment", async () => {
    const world = await makeWorld(auth);
    const { id } = await publish(world);
    for (const version of ["1.0.1", "1.0.2"]) await publish(world, { version });
    auth.clock.pass(1_000);
    await publish(world, { version: "0.9.0" });
    const page = (after?: string): Promise<[string[], boolean]> =>
      listVersions(agents, world.caller.organizationId, id, { first: 2, ...(after && { after }) }).then(
        ({ items, hasNextPage }) => [items.map(({ version }) => version), hasNextPage],
      );
    expect(await page()).toEqual([["0.9.0", "1.0.2"], true]);
    expect(await page("1.0.2")).toEqual([["1.0.1", "1.0.0"], false]);
    expect(await page("9.9.9")).toEqual([[], false]);
    expect(await page("\u0000")).toEqual([[], false]);
    const [newest] = (await listVersions(agents, world.caller.organizationId, id, { first: 1 })).items;
    expect(newest).toEqual({
      id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7/),
      organizationId: world.caller.organizationId,
      agentId: id,
      version: "0.9.0",
      createdBy: { kind: "user", id: world.caller.user.id },
      createdAt: new Date(auth.clock.now()),
    });
    const { organizationId } = world.caller;
    expect([...(await readSources(agents, organizationId, [newest!.id, newId()]))]).toEqual([
      [newest!.id, definitionOf({ version: "0.9.0" })],
    ]);
    const other = await makeWorld(auth);
    expect((await readSources(agents, other.caller.organizationId, [newest!.id])).size).toBe(0);
    expect((await listVersions(agents, other.caller.organizationId, id, { first: 9 })).items).toEqual([]);
    expect((await readAgents(agents, other.caller, [id])).size).toBe(0);
    expect((await readAgents(agents, world.caller, [id, newId()])).size).toBe(1);
  });
});

test("of the texts of many versions no more is read than an answer may have", async () => {
  const { caller, project } = await makeWorld(auth);
  const { organizationId } = caller;
  const { id } = await publish({ caller, project });
  await database.query(
    `insert into agent_versions (organization_id, id, agent_id, version, source, created_by_kind, created_at)
      select $1, gen_random_uuid(), $2, '2.0.' || n, repeat('x', 250000), 'system', now() from generate_series(1, 100) n`,
    [organizationId, id],
  );
  const { items } = await listVersions(agents, organizationId, id, { first: 200 });
  const texts = [
    ...(
      await readSources(
        agents,
        organizationId,
        items.map((version) => version.id),
      )
    ).values(),
  ];
  const characters = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
  expect(texts).toHaveLength(101);
  expect(characters).toBeGreaterThan(LIMITS.answerBytes - 250_000);
  expect(characters).toBeLessThanOrEqual(LIMITS.answerBytes);
});

test("the versions of a whole list of runs are one statement", async () => {
  const world = await makeWorld(auth);
  const { id } = await publish(world);
  await publish(world, { version: "2.0.0" });
  const statements: string[] = [];
  const counted: Database = {
    ...database,
    query: (text, values) => (statements.push(text), database.query(text, values)),
  };
  const rooms = { agents: openAgents(auth, { database: counted }) } as unknown as Handles;
  const loaders = new Loaders(rooms, world.caller, {} as never, {} as never);
  const wanted = Array.from({ length: 200 }, (_, index) => `${(index % 3) + 1}.0.0`);
  const found = await Promise.all(wanted.map((version) => loaders.version({ agentId: id, version })));
  expect(found.map((version) => version?.version ?? "3.0.0")).toEqual(wanted);
  expect(statements).toHaveLength(1);
});

describe("the published version", () => {
  test("comes from memory after the first call", async () => {
    const { caller, project } = await makeWorld(auth);
    const reads: string[] = [];
    const counted: Database = {
      ...database,
      query: (text, values) => (reads.push(text), database.query(text, values)),
    };
    const own = openAgents(auth, { database: counted });
    const { id } = await publishAgent(own, caller, { projectId: project.id, definition: definitionOf() });
    reads.length = 0;
    const first = (await published(own, caller, id))!;
    for (let time = 0; time < 1_000; time++) {
      const again = (await published(own, caller, id))!;
      expect(again.program === first.program && again.workflow === first.workflow).toBe(true);
    }
    expect(reads).toHaveLength(2);
    expect(first).toMatchObject({ agent: { id }, version: "1.0.0", source: definitionOf(), inputSchema: undefined });
    expect(first.program.block.tasks.map(({ name }) => name)).toEqual(["first"]);
  });

  test("is exact after a publish here, and within 5 s in another process", async () => {
    const world = await makeWorld(auth);
    const { organizationId } = world.caller;
    const other = openAgents(auth);
    const { id } = await publish(world);
    for (const of of [agents, other]) expect((await published(of, allOf(organizationId), id))!.version).toBe("1.0.0");
    await publish(world, { version: "2.0.0" });
    expect((await published(agents, allOf(organizationId), id))!.version).toBe("2.0.0");
    expect((await published(other, allOf(organizationId), id))!.version).toBe("1.0.0");
    other.cache.invalidate(organizationId, id);
    expect((await published(other, allOf(organizationId), id))!.version).toBe("2.0.0");
    await setAgentStatus(agents, world.caller, { agentId: id, status: "paused" });
    auth.clock.pass(5_000);
    expect((await published(other, allOf(organizationId), id))!.agent.status).toBe("paused");
    expect((await published(agents, allOf(organizationId), id, "1.0.0"))!.version).toBe("1.0.0");
  });

  test("is nothing for what is foreign, unknown or hostile, also when it is in memory", async () => {
    const [ada, grace] = [await makeWorld(auth), await makeWorld(auth)];
    const { id } = await publish(ada);
    await published(agents, ada.caller, id);
    expect(await published(agents, grace.caller, id)).toBeUndefined();
    expect(await published(agents, grace.caller, id, "1.0.0")).toBeUndefined();
    expect(await readAgent(agents, grace.caller, id)).toBeUndefined();
    expect(await published(agents, ada.caller, newId())).toBeUndefined();
    for (const version of ["9.9.9", "", "\u0000", "x".repeat(100_000), "1.0.0 "]) {
      expect(await published(agents, ada.caller, id, version || "none")).toBeUndefined();
    }
  });

  test("a version that is asked for by many at once is compiled once", async () => {
    const world = await makeWorld(auth);
    const { id } = await publish(world);
    let compiled = 0;
    const own = openAgents(auth, {
      compile: (workflow) => (
        compiled++,
        { definition: {}, secrets: [], functions: new Map(), block: workflow as never }
      ),
    });
    await Promise.all(Array.from({ length: 100 }, () => published(own, world.caller, id)));
    expect(compiled).toBe(1);
  });
});

test("the demo is a project with its agents, and a mistake names the file", async () => {
  const { caller } = await makeWorld(auth);
  const texts = ["one", "two"].map((name) => ({
    name: `${name}.yaml`,
    text: definitionOf({ namespace: "demo", name }),
  }));
  await publishDemo(auth, agents, caller, texts);
  expect((await listAgents(agents, caller)).map(({ handle }) => handle)).toEqual(["one", "two"]);
  const other = await makeWorld(auth);
  const broken = [{ name: "bad.yaml", text: "" }];
  await expect(
    publishDemo(auth, agents, ownerCaller(other.caller.organizationId, other.caller.user), broken),
  ).rejects.toThrow(/^bad\.yaml: the definition has/);
});
