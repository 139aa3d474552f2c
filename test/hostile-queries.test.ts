/** Queries that cost more than they say: over the real wire, from strangers and from callers. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "./client.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const repeat = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => text(index)).join(" ");

test("a stranger's chain of 40 fragments, 2^40 spreads in 1.9 kB, is refused and the server goes on", async () => {
  const chain = repeat(39, (index) => `fragment f${index} on Query{...f${index + 1} ...f${index + 1}}`);
  const query = `{...f0} ${chain} fragment f39 on Query{me{id}}`;
  expect(query.length).toBeLessThan(2_000);
  const { errors } = await server.graphql(query, {}, null);
  expect(errors).toMatchObject([{ extensions: { code: "QUERY_TOO_COMPLEX" } }]);
  expect((await server.data("{ me { id } }")).me).not.toBeNull();
});

test("what a stranger asks at length is not looked at", async () => {
  const query = `{ ${repeat(500, () => "nothing")} }`;
  expect((await server.graphql(query, {}, null)).errors).toMatchObject([{ extensions: { code: "UNAUTHENTICATED" } }]);
  expect((await server.graphql(query)).errors).toMatchObject([{ extensions: { code: "QUERY_TOO_COMPLEX" } }]);
});

test("null for a variable with a default costs what it reads", async () => {
  const query = "query ($n: Int = 1) { runs { nodes { steps(first: $n) { output } } } }";
  expect((await server.graphql(query)).errors).toBeUndefined();
  expect((await server.graphql(query, { n: null })).errors).toMatchObject([
    { extensions: { code: "QUERY_TOO_COMPLEX" } },
  ]);
});
