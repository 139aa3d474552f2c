/**
 * The audits of GraphQL over HTTP (`graphql-http`): every MUST and SHOULD passes, and every MAY but those that docs/api.md
 * names. For a caller, and for a stranger.
 */
import { serverAudits, type Audit } from "graphql-http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedServer, type SharedServer } from "./shared-server.ts";

/** Operations by GET: a page of any origin can make a browser send them, and logs keep their URLs. */
const NOT_DONE = ["5A70", "D6D5", "6A70"];
/** It asks for `__type`, which is for callers. */
const OF_THE_SCHEMA = "28B9";

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const auditsOf = (headers: () => Record<string, string>): Audit[] =>
  serverAudits({
    url: () => `${server.url}/graphql`,
    fetchFn: (url: string, init: RequestInit = {}) =>
      fetch(url, { ...init, headers: { ...(init.headers as Record<string, string>), ...headers() } }),
  });

const WHO = {
  "a caller": auditsOf(() => ({ authorization: `Bearer ${server.world.apiKey}` })),
  "a stranger": auditsOf(() => ({})).filter(({ id }) => id !== OF_THE_SCHEMA),
};

test("their number is that of the release that was read", () => {
  const ids = WHO["a caller"].map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining([...NOT_DONE, OF_THE_SCHEMA]));
  expect(ids).toHaveLength(61);
});

describe.for(Object.entries(WHO))("%s", ([, audits]) => {
  test.for(audits.map((audit) => [audit.name, audit] as const))("%s", async ([, { id, fn }]) => {
    const result = await fn();
    const verdict = result.status === "ok" ? "ok" : `${result.status}: ${result.reason}`;
    // A notice is a MAY that is not done.
    if (NOT_DONE.includes(id)) expect(verdict).toMatch(/^notice: /);
    else expect(verdict).toBe("ok");
  });
});
