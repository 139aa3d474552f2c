/** Strangers at the doors of sign-in, from very many addresses, against a running server. */
import { readFile } from "node:fs/promises";
import { lookup } from "node:dns/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeApiKey } from "../server/src/auth/api-key.ts";
import { startTestServer, type TestServer } from "./client.ts";
import { scaled } from "./scale.ts";

const LOGIN =
  "mutation($email: String!, $password: String!) { login(email: $email, password: $password) { refreshToken } }";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ env: { TRUSTED_PROXIES: "127.0.0.1" } });
});
afterAll(() => server[Symbol.asyncDispose]());

type Outcome = { code: string | undefined; retryAfter: unknown; status: number; ms: number };

/** Where more than 511 connections wait to be taken, the kernel resets some, which have asked nothing yet. */
async function insistent(url: string, init: RequestInit, tries = 5): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (tries === 1) throw error;
    return insistent(url, init, tries - 1);
  }
}

/** As from `address`. */
async function post(address: string, query: string, variables: object, token?: string): Promise<Outcome> {
  const start = performance.now();
  const response = await insistent(`${server.url}/graphql`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-forwarded-for": address,
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  const { errors } = (await response.json()) as { errors?: { extensions: { code: string; retryAfter?: number } }[] };
  const extensions = errors?.[0]?.extensions;
  return {
    code: extensions?.code,
    retryAfter: extensions?.retryAfter,
    status: response.status,
    ms: performance.now() - start,
  };
}

const login = (address: string, email: string, password = "wrong wrong wrong"): Promise<Outcome> =>
  post(address, LOGIN, { email, password });
const address = (index: number): string => `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;

test("sixty wrong passwords from a dozen addresses pause the account for strangers, and never for the owner at home", async () => {
  const { email, password } = server.world;
  const home = "2001:db8:1::1";
  expect(await login(home, email, password)).toMatchObject({ code: undefined });
  await server.kill();
  await server.restart();
  for (let index = 0; index < 60; index++) await login(`10.20.${index % 12}.1`, email);
  expect(await login("10.20.99.1", email, password)).toMatchObject({
    code: "RATE_LIMITED",
    retryAfter: expect.any(Number),
  });
  expect(await login(home, email, password)).toMatchObject({ code: undefined });
});

const ADDRESSES = scaled({ whole: 2_000, part: 500 });

test(`a flood of sign-ins from ${ADDRESSES} addresses holds no connection of others, and leaves them their files, look-ups and sign-ins`, async () => {
  const { email, password, apiKey } = await server.organization("flooded");
  const home = "192.0.2.7";
  expect(await login(home, email, password)).toMatchObject({ code: undefined });
  const before = await rss();
  const flood = Array.from({ length: ADDRESSES }, (_, index) => login(address(index), `nobody${index}@example.org`));
  const canaries: Promise<Outcome>[] = [];
  for (let round = 0; round < 5; round++) {
    canaries.push(post(home, "{ me { id } }", {}, apiKey));
    canaries.push(insistent(server.url, {}).then(({ status }) => ({ status, code: undefined, retryAfter: 0, ms: 0 })));
  }
  const owner = login(home, email, password);
  await lookup("localhost");
  const outcomes = await Promise.all(flood);
  const counts = Object.groupBy(outcomes, ({ code }) => code ?? "in");
  expect(Object.keys(counts).toSorted()).toEqual(["RATE_LIMITED", "UNAUTHENTICATED"]);
  expect(counts["RATE_LIMITED"]!.length).toBeGreaterThan(ADDRESSES / 2);
  for (const { retryAfter } of counts["RATE_LIMITED"]!) expect(retryAfter).toBeGreaterThanOrEqual(1);
  for (const one of await Promise.all(canaries)) expect(one).toMatchObject({ status: 200, code: undefined });
  expect(await owner).toMatchObject({ code: undefined });
  // Two hashes of 19 MiB and some bodies; 800 at once would be 15 GB.
  expect((await rss()) - before).toBeLessThan(200 * 1024 * 1024);
});

const ROUNDS = scaled({ whole: 5, part: 3 });

test("a flood of made-up API keys takes one connection to the database, and a key not seen before is found meanwhile", async () => {
  const other = await server.organization("found-meanwhile");
  const codes = new Set<string | undefined>();
  for (let round = 0; round < ROUNDS; round++) {
    const guesses = Array.from({ length: 400 }, (_, index) =>
      post(address(index), "{ me { id } }", {}, makeApiKey()).then(({ code }) => codes.add(code)),
    );
    if (round === 2)
      expect(await post("192.0.2.8", "{ me { id } }", {}, other.apiKey)).toMatchObject({ code: undefined });
    await Promise.all(guesses);
  }
  expect([...codes]).toEqual(["UNAUTHENTICATED"]);
});

async function rss(): Promise<number> {
  const status = await readFile(`/proc/${server.pid}/status`, "utf8").catch(() => "VmRSS: 0 kB");
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) * 1024;
}
