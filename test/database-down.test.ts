/** Clients while PostgreSQL is away: UNAVAILABLE, never a bug, and everything again when it is back. */
import { expect, test } from "vitest";
import { startTestPostgres } from "./postgres.ts";
import { publish } from "./agents.ts";
import { eventually, startTestServer, type Answer } from "./client.ts";

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
