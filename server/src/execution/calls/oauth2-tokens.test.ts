import { expect, test } from "vitest";
import { testClock } from "../../../../test/clock.ts";
import { newId, type OrganizationId } from "../../lib/ids.ts";
import type { OutboundRequest } from "../../outbound/outbound.ts";
import { createTokens } from "./oauth2-tokens.ts";

const { signal } = new AbortController();

const planOf = (client: string) => ({
  at: { url: "https://id.example.org/token" },
  client: { id: client, method: "none" as const, secret: "", assertion: "" },
  type: "application/json",
  fields: { grant_type: "client_credentials" },
});

/** An authority that gives a new token for each request, good for ten minutes. */
function opened() {
  const asked: OutboundRequest[] = [];
  const outbound = {
    request: async (request: OutboundRequest) => {
      const body = JSON.stringify({ access_token: `token${asked.push(request)}`, expires_in: 600 });
      return { status: 200, statusText: "OK", url: request.url, headers: {}, setCookies: [], body: Buffer.from(body) };
    },
  };
  const tokens = createTokens(outbound, testClock(), { read: async () => undefined, keep: async () => {} });
  const get = (organizationId: OrganizationId, client: string) => tokens.get(organizationId, planOf(client), signal);
  return { asked, get };
}

test("a token serves one organization alone, though another one asks with the same client", async () => {
  const { asked, get } = opened();
  const [one, other] = [newId<"organization">(), newId<"organization">()];
  const first = await get(one, "same");
  expect(await get(one, "same")).toEqual({ token: first.token, isNew: false });
  expect((await get(other, "same")).token).not.toBe(first.token);
  expect(asked.map(({ organizationId }) => organizationId)).toEqual([one, other]);
});

test("no log names the authority of a refused request, whose URL may be a secret", async () => {
  const { asked, get } = opened();
  await get(newId<"organization">(), "any");
  expect(asked[0]!.confidential).toMatchObject({ url: true });
});

test("requests by one refresh token wait for each other; one that everybody has given up is not made, and asked again it is", async () => {
  const scopes: string[] = [];
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const outbound = {
    request: async (request: OutboundRequest) => {
      scopes.push(JSON.parse(request.body as string).scope);
      await held;
      const body = JSON.stringify({ access_token: "token", expires_in: 600 });
      return { status: 200, statusText: "OK", url: request.url, headers: {}, setCookies: [], body: Buffer.from(body) };
    },
  };
  const tokens = createTokens(outbound, testClock(), { read: async () => undefined, keep: async () => {} });
  const organizationId = newId<"organization">();
  const over = new AbortController();
  const get = (scope: string, until = signal): Promise<unknown> =>
    tokens.get(
      organizationId,
      { ...planOf("shop"), fields: { grant_type: "refresh_token", scope }, refreshToken: "one" },
      until,
    );
  const first = get("first");
  const abandoned = ["a", "b", "c"].map((scope) => get(scope, over.signal));
  const given = Promise.allSettled(abandoned);
  const [shared, joined] = [get("shared", over.signal).catch(() => {}), get("shared")];
  over.abort(new Error("given up"));
  expect((await given).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  const again = get("b");
  letGo();
  await Promise.all([first, shared, joined, again]);
  expect(scopes).toEqual(["first", "b", "shared"]);
  await get("a");
  expect(scopes).toEqual(["first", "b", "shared", "a"]);
});

test("who asks with thousands of clients displaces their own tokens, the least recently used first, and nobody else's", async () => {
  const { asked, get } = opened();
  const [quiet, busy] = [newId<"organization">(), newId<"organization">()];
  await get(quiet, "shop");
  await get(busy, "often");
  for (let client = 0; client < 1_500; client++) {
    await get(busy, `client ${client}`);
    expect((await get(busy, "often")).isNew).toBe(false);
  }
  expect((await get(quiet, "shop")).isNew).toBe(false);
  expect((await get(busy, "client 1499")).isNew).toBe(false);
  expect(asked).toHaveLength(1_502);
  expect((await get(busy, "client 500")).isNew).toBe(true);
});
