/** What clients see while PostgreSQL is away: UNAVAILABLE, never a bug, and everything again when it is back. */
import { expect, test } from "vitest";
import { readPidFile } from "../server/src/storage/postmaster.ts";
import { startTestPostgres } from "./postgres.ts";
import { publish, start } from "./agents.ts";
import { ON_OPERATORS, eventually, startTestServer, type Answer } from "./client.ts";

test("a database that is stopped makes requests 503 and the server not ready; a new connection is used when it is back", async () => {
  await using postgres = await startTestPostgres();
  await using server = await startTestServer({ env: { DATABASE_URL: postgres.url, METRICS_PORT: "0" } });
  const three = await publish(server, "three");
  const codes = new Set<string>();
  const ask = async (query: string): Promise<Answer> => {
    const answer = await server.graphql(query);
    for (const { extensions } of answer.errors ?? []) codes.add(extensions.code);
    return answer;
  };
  const LIST = "{ runs { nodes { id } } }";
  const RUN = `mutation { runAgent(input: {agentId: "${three}", input: {n: 1}}) { id } }`;

  // SIGSTOP would leave connections open; an end cuts them, as a failover does.
  await postgres.stop();
  await eventually(async () => (await ask(LIST)).status === 503);
  const started = await ask(RUN);
  expect(started).toMatchObject({
    status: 503,
    errors: [{ extensions: { code: "UNAVAILABLE", retryAfter: expect.any(Number) } }],
  });
  // When 5 s have passed since the key was looked up, nothing is carried out at all.
  expect(started.data ?? { runAgent: null }).toEqual({ runAgent: null });
  expect(started.headers.get("retry-after")).toMatch(/^\d+$/);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  const figures = await fetch(server.metricsUrl!);
  expect([figures.status, (await figures.text()).includes("\nautograph_build_info{")]).toEqual([200, true]);
  // Who asks here cannot be looked up.
  const headers = { authorization: `Bearer ${server.world.apiKey}` };
  expect((await fetch(`${server.url}/metrics`, { headers })).status).toBe(503);
  expect([...codes]).toEqual(["UNAVAILABLE"]);
});

test("the embedded PostgreSQL killed is started again by itself, and runs go on", async (context) => {
  await using server = await startTestServer();
  context.skip(!server.isEmbedded, ON_OPERATORS);
  const three = await publish(server, "three");
  const before = await start(server, three, { n: 1 });

  const codes = new Set<string>();
  process.kill(readPidFile(`${server.dataFolder}/postgres`)!.pid, "SIGKILL");
  const after = await eventually(async () => {
    const { data, errors } = await server.graphql(
      `mutation { runAgent(input: {agentId: "${three}", input: {n: 1}, wait: 10}) { id } }`,
    );
    for (const { extensions } of errors ?? []) codes.add(extensions.code);
    return data?.runAgent;
  });
  expect([...codes].filter((code) => code !== "UNAVAILABLE")).toEqual([]);
  // The postmaster's orphans may answer once more before they notice: the outage may only begin here, or during the wait.
  const ended = async (id: string): Promise<boolean> =>
    (await server.graphql(`{ run(id: "${id}") { status } }`)).data?.run?.status === "completed";
  for (const id of [before, after.id]) await eventually(() => ended(id));
  await eventually(async () => (await fetch(`${server.url}/readyz`)).status === 200);
});
