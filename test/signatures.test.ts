/** Webhooks that want their requests signed, or to come from some addresses only. */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Scope } from "../server/src/auth/scopes.ts";
import { publish } from "./agents.ts";
import { startTestServer, type TestServer } from "./client.ts";
import { call, firingsOf, webhookOf, type Called, type Webhook } from "./webhooks.ts";

let server: TestServer;
let echo: string;
beforeAll(async () => {
  server = await startTestServer({ env: { TRUSTED_PROXIES: "127.0.0.1/32" } });
  echo = await publish(server, "echo");
  for (const [name, value] of Object.entries(SECRETS))
    await server.data("mutation($input: SetSecretInput!) { setSecret(input: $input) { id } }", {
      input: { projectId: server.world.projectId, name, value },
    });
});
afterAll(() => server[Symbol.asyncDispose]());

const KEY = Buffer.from("a key of Standard Webhooks, 32 b");
const SECRETS = { plain: "it's a Secret to Everybody", standard: `whsec_${KEY.toString("base64")}`, none: "whsec_*" };
/** Spaces and order matter: it is signed as it is sent. */
const BODY = '{ "b": 1,  "a": "ä" }';

const hmac = (signed: string, key: string | Buffer, encoding: "hex" | "base64"): string =>
  createHmac("sha256", key).update(signed).digest(encoding);
const now = async (): Promise<number> => Math.floor((await server.clock.now()) / 1_000);

type Sign = (body: string, seconds: number, key?: string | Buffer) => Record<string, string>;
const SIGN: Record<string, Sign> = {
  standard: (body, seconds, key = KEY) => ({
    "webhook-id": `msg_${seconds}`,
    "webhook-timestamp": String(seconds),
    "webhook-signature": `v1,AAAA v1,${hmac(`msg_${seconds}.${seconds}.${body}`, key, "base64")}`,
  }),
  github: (body, _, key = SECRETS.plain) => ({ "x-hub-signature-256": `sha256=${hmac(body, key, "hex")}` }),
  stripe: (body, seconds, key = SECRETS.plain) => ({
    "stripe-signature": `t=${seconds},v1=00,v1=${hmac(`${seconds}.${body}`, key, "hex")},v0=other`,
  }),
  slack: (body, seconds, key = SECRETS.plain) => ({
    "x-slack-request-timestamp": String(seconds),
    "x-slack-signature": `v0=${hmac(`v0:${seconds}:${body}`, key, "hex")}`,
  }),
  svix: (body, seconds, key = KEY) => ({
    "svix-id": `msg_${seconds}`,
    "svix-timestamp": String(seconds),
    "svix-signature": `v1,${hmac(`msg_${seconds}.${seconds}.${body}`, key, "base64")} v1a,AAAA`,
  }),
  shopify: (body, _, key = SECRETS.plain) => ({ "x-shopify-hmac-sha256": hmac(body, key, "base64") }),
  woocommerce: (body, _, key = SECRETS.plain) => ({ "x-wc-webhook-signature": hmac(body, key, "base64") }),
  header: (body, _, key = SECRETS.plain) => ({ "x-mine": hmac(body, key, "hex") }),
};
const TIMED = ["standard", "svix", "stripe", "slack"];
/** A signed id names a delivery. */
const NAMED: Record<string, string> = { standard: "webhook-id", svix: "svix-id" };
/** All that the caller learns, whatever is wrong; the firing says more. */
const NEUTRAL = { message: "the request is not signed as it must be", extensions: { code: "FORBIDDEN" } };
const reasonOf = async (hook: Webhook): Promise<string> => (await firingsOf(server, hook, ["refused"]))[0]!.message;

const hookOf = (preset: string, name = preset): Promise<Webhook> =>
  webhookOf(server, echo, {
    name,
    policy: {
      signature: {
        preset,
        secret: preset in NAMED ? "standard" : "plain",
        ...(preset === "header" && { header: "X-Mine" }),
      },
    },
  });

describe.each(Object.keys(SIGN))("%s", (preset) => {
  const sign = SIGN[preset]!;
  const send = async (hook: Webhook, headers: Record<string, string>, body = BODY): Promise<Called> =>
    call(hook.url, body, { headers });

  test("a signed call starts a run, an unsigned one does not", async () => {
    const hook = await hookOf(preset);
    const seconds = await now();
    const good = sign(BODY, seconds);
    expect((await send(hook, good)).status).toBe(202);
    const wrong: [Record<string, string>, string?][] = [
      [{}],
      [Object.fromEntries(Object.keys(good).map((name) => [name, "x"]))],
      [good, BODY.replace("1", "2")],
      [good, JSON.stringify(JSON.parse(BODY))],
      [sign(BODY, seconds, "another secret")],
      [sign("", seconds)],
    ];
    for (const [headers, body] of wrong)
      expect(await send(hook, headers, body)).toMatchObject({
        status: 403,
        errors: [NEUTRAL],
      });
    const refused = await firingsOf(server, hook, ["refused"]);
    expect(refused.map(({ code, payload }) => ({ code, payload }))).toEqual(
      wrong.map(() => ({ code: "FORBIDDEN", payload: null })),
    );
  });

  test.runIf(TIMED.includes(preset))("within 300 s of now at most", async () => {
    const hook = await hookOf(preset, `${preset} in time`);
    const seconds = await now();
    for (const [shift, status] of [
      [-290, 202],
      [290, 202],
      [-302, 403],
      [310, 403],
    ] as const)
      expect((await send(hook, sign(BODY, seconds + shift))).status, String(shift)).toBe(status);
    // Its time is looked at before the secret is.
    expect((await send(hook, sign(BODY, seconds + 1_000, "another secret"))).errors).toMatchObject([NEUTRAL]);
    expect(await reasonOf(hook)).toContain("300 s");
  });

  test("a replayed request starts nothing in 24 hours, under any delivery name", async () => {
    const hook = await hookOf(preset, `${preset} recorded`);
    const recorded = sign(BODY, await now());
    const { body } = await send(hook, { ...recorded, "idempotency-key": "first" });
    for (const others of [
      {},
      { "idempotency-key": "second" },
      { "x-github-delivery": "another" },
      { "x-mine-delivery": "another" },
      ...(preset in NAMED ? [] : [{ "webhook-id": "another" }, { "svix-id": "another" }]),
    ])
      expect(await send(hook, { ...recorded, ...others })).toMatchObject({ status: 202, body: { runId: body.runId } });
    // Its id is signed, so with another one it is not.
    const named = NAMED[preset];
    if (named) expect((await send(hook, { ...recorded, [named]: "another" })).status).toBe(403);
    expect(await firingsOf(server, hook, ["started"])).toHaveLength(1);
    expect(
      new Set((await firingsOf(server, hook, ["started", "duplicate"])).map(({ delivery }) => delivery)).size,
    ).toBe(1);
    const other = BODY.replace("1", "2");
    expect((await send(hook, sign(other, (await now()) + 1), other)).body.runId).not.toBe(body.runId);
  });
});

test.each([
  ["stripe", "id"],
  ["slack", "event_id"],
])("%s sends an event again with a new signature: it starts one run", async (preset, key) => {
  const hook = await hookOf(preset, `${preset} again`);
  const seconds = await now();
  const send = (id: unknown, shift: number, more = {}): Promise<Called> => {
    const body = JSON.stringify({ [key]: id, ...more });
    return call(hook.url, body, { headers: SIGN[preset]!(body, seconds + shift) });
  };
  const first = await send("evt_1", 0, { pending_webhooks: 2 });
  expect(await send("evt_1", 5, { pending_webhooks: 1 })).toMatchObject({
    status: 202,
    body: { runId: first.body.runId },
  });
  expect((await firingsOf(server, hook)).map(({ outcome, delivery }) => [outcome, delivery])).toEqual([
    ["duplicate", "evt_1"],
    ["started", "evt_1"],
  ]);
  // An invalid name names nothing.
  const others = await Promise.all(["evt_2", 1, "", "x".repeat(256), "a\nb"].map((id) => send(id, 6)));
  expect(new Set([first, ...others].map(({ body }) => body.runId)).size).toBe(6);
});

test("the preset standard takes the headers of Svix as well, and the id of either names one delivery", async () => {
  const hook = await hookOf("standard", "both");
  const seconds = await now();
  const first = await call(hook.url, BODY, { headers: SIGN["svix"]!(BODY, seconds) });
  expect(first.status).toBe(202);
  expect((await call(hook.url, BODY, { headers: SIGN["standard"]!(BODY, seconds) })).body.runId).toBe(first.body.runId);
});

test("a header of one's own may be in base64", async () => {
  const signature = { preset: "header", secret: "plain", header: "X-Mine", encoding: "base64" };
  const hook = await webhookOf(server, echo, { name: "base64", policy: { signature } });
  const status = async (value: string): Promise<number> =>
    (await call(hook.url, BODY, { headers: { "x-mine": value } })).status;
  const good = hmac(BODY, SECRETS.plain, "base64");
  expect([await status(good), await status(`sha256=${good}`), await status(hmac(BODY, SECRETS.plain, "hex"))]).toEqual([
    202, 202, 403,
  ]);
});

test("Square signs the URL as well, with its query, and names an event in its body", async () => {
  const hook = await webhookOf(server, echo, {
    name: "square",
    policy: { signature: { preset: "square", secret: "plain" } },
  });
  const body = JSON.stringify({ merchant_id: "m", type: "payment.created", event_id: "e1" });
  const send = (url: string, signedUrl: string): Promise<Called> =>
    call(url, body, { headers: { "x-square-hmacsha256-signature": hmac(signedUrl + body, SECRETS.plain, "base64") } });
  expect((await send(hook.url, hook.url)).status).toBe(202);
  expect((await send(`${hook.url}?a=1`, `${hook.url}?a=1`)).status).toBe(202);
  for (const signed of ["", `${hook.url}?a=2`, hook.url.replace("http:", "https:")])
    expect(await send(hook.url, signed)).toMatchObject({ status: 403, errors: [NEUTRAL] });
  expect((await firingsOf(server, hook)).map(({ outcome, delivery }) => [outcome, delivery]).slice(-2)).toEqual([
    ["duplicate", "e1"],
    ["started", "e1"],
  ]);
});

test("Xero gets 200 without a body for what is signed, 401 for what is not, and its first question starts nothing", async () => {
  const hook = await webhookOf(server, echo, {
    name: "xero",
    policy: { signature: { preset: "xero", secret: "plain" } },
  });
  const send = async (body: string, key = SECRETS.plain) => {
    const headers = {
      "content-type": "application/json; charset=utf-8",
      "x-xero-signature": hmac(body, key, "base64"),
    };
    const response = await fetch(hook.url, { method: "POST", headers, body });
    return [response.status, await response.text()];
  };
  const question = JSON.stringify({
    events: [],
    firstEventSequence: 0,
    lastEventSequence: 0,
    entropy: "S0m3r4Nd0mt3xt",
  });
  expect(await send(question)).toEqual([200, ""]);
  expect(await send(question, "another secret")).toEqual([401, expect.stringContaining(NEUTRAL.message)]);
  expect(await firingsOf(server, hook, ["started"])).toEqual([]);
  expect(await send(JSON.stringify({ events: [{ resourceId: "r" }], entropy: "x" }))).toEqual([200, ""]);
  expect(await firingsOf(server, hook, ["started"])).toHaveLength(1);
});

test("WooCommerce's ping, which is not signed, gets 200 and starts nothing, ten times at once", async () => {
  const hook = await hookOf("woocommerce", "ping");
  const ping = (body: string, type: string): Promise<Called> =>
    call(hook.url, body, { headers: { "content-type": type } });
  const FORM = "application/x-www-form-urlencoded";
  expect((await ping("webhook_id=7&a=1", FORM)).status).toBe(403);
  for (let count = 0; count < 9; count++) expect((await ping("webhook_id=7", FORM)).status).toBe(200);
  expect((await ping("webhook_id=7", FORM)).status).toBe(429);
  expect(await firingsOf(server, hook)).toMatchObject([{ outcome: "refused" }]);
  expect((await call(hook.url, BODY, { headers: SIGN["woocommerce"]!(BODY, 0) })).status).toBe(202);
});

test("a standard secret that is no key refuses what is signed with it", async () => {
  const policy = { signature: { preset: "standard", secret: "none" } };
  const hook = await webhookOf(server, echo, { name: "no key", policy });
  const headers = SIGN["standard"]!(BODY, await now(), "");
  expect(await call(hook.url, BODY, { headers })).toMatchObject({ status: 403, errors: [NEUTRAL] });
  expect(await reasonOf(hook)).toContain("at least 16 bytes in base64");
});

test("a signed question of Slack is answered, and starts nothing", async () => {
  const hook = await hookOf("slack", "question");
  const body = JSON.stringify({ type: "url_verification", challenge: "3eZbrw1a" });
  expect((await call(hook.url, body)).status).toBe(403);
  const { status, body: answer } = await call(hook.url, body, { headers: SIGN["slack"]!(body, await now()) });
  expect({ status, answer }).toEqual({ status: 200, answer: { challenge: "3eZbrw1a" } });
  expect(await firingsOf(server, hook, ["started"])).toEqual([]);
});

test("GitHub's redelivery starts nothing new", async () => {
  const hook = await hookOf("github", "redelivered");
  const headers = { ...SIGN["github"]!(BODY, 0), "x-github-delivery": "72d3162e" };
  const runs = [];
  for (let count = 0; count < 3; count++) runs.push((await call(hook.url, BODY, { headers })).body.runId);
  expect(new Set(runs).size).toBe(1);
});

describe("the secret", () => {
  const CREATE =
    "mutation($input: CreateTriggerInput!) { createTrigger(input: $input) { id name url curl policy { signature } } }";
  const inputOf = (name: string, secret: string) => ({
    agentId: echo,
    name,
    trigger: { type: "webhook" },
    policy: { signature: { preset: "github", secret } },
  });
  const set = async (name: string): Promise<string> =>
    (
      await server.data("mutation($input: SetSecretInput!) { setSecret(input: $input) { id } }", {
        input: { projectId: server.world.projectId, name, value: "value" },
      })
    ).setSecret.id;

  test("that is gone refuses like a wrong signature, and its owner sees why", async () => {
    const id = await set("gone");
    const hook: Webhook & { curl: string | null } = (await server.data(CREATE, { input: inputOf("gone", "gone") }))
      .createTrigger;
    // A command cannot sign.
    expect(hook.curl).toBeNull();
    const used = "query($id: ID!) { node(id: $id) { ... on Secret { usedBy { id } } } }";
    expect((await server.data(used, { id })).node.usedBy).toEqual([{ id: echo }]);
    await server.data(`mutation { deleteSecret(input: {secretId: "${id}"}) { id } }`);
    expect(await call(hook.url, BODY, { headers: SIGN["github"]!(BODY, 0) })).toMatchObject({
      status: 403,
      errors: [NEUTRAL],
    });
    expect(await reasonOf(hook)).toContain("the project has no secret gone");
  });

  test("is there when it is named, by who may use secrets or set them", async () => {
    await set("there");
    const made = async (scopes: Scope[], secret: string) => {
      const { data, errors } = await server.graphql(
        CREATE,
        { input: inputOf(`${scopes.join(" ")} ${secret}`, secret) },
        await server.key(["triggers:write", ...scopes]),
      );
      return { hook: data?.createTrigger as Webhook | null, error: errors?.[0]?.extensions };
    };
    for (const secret of ["there", "nowhere"])
      expect(await made([], secret)).toMatchObject({
        hook: null,
        error: { code: "FORBIDDEN", scope: "secrets:write" },
      });
    for (const scope of ["agents:write", "secrets:write"] as const) {
      expect(await made([scope], "nowhere")).toMatchObject({
        error: { code: "BAD_USER_INPUT", fields: [{ path: "input.policy.signature.secret", code: "unknown" }] },
      });
      const { hook } = await made([scope], "there");
      // A caller who may only change triggers may change all else of it.
      const change = async (policy: object) =>
        server.graphql(
          "mutation($input: UpdateTriggerInput!) { updateTrigger(input: $input) { id } }",
          { input: { triggerId: hook!.id, policy } },
          await server.key(["triggers:write"]),
        );
      const { policy } = inputOf("", "there");
      expect((await change({ ...policy, overlap: "skip" })).errors).toBeUndefined();
      expect((await change({ signature: { ...policy.signature, secret: "plain" } })).errors).toMatchObject([
        { extensions: { code: "FORBIDDEN", scope: "secrets:write" } },
      ]);
    }
  });
});

test("a flood of what is not signed, or from elsewhere, takes nothing of the plan and leaves few firings", async () => {
  const world = await server.organization("flooded");
  const agent = await publish(server, "echo", world);
  await server.data(
    "mutation($input: SetSecretInput!) { setSecret(input: $input) { id } }",
    { input: { projectId: world.projectId, name: "plain", value: SECRETS.plain } },
    world.apiKey,
  );
  const policies = [
    { signature: { preset: "github", secret: "plain" } },
    { allowedAddresses: ["192.0.2.0/24"] },
    { allowedAddresses: ["192.0.2.0/24"], signature: { preset: "github", secret: "plain" } },
  ];
  for (const [index, policy] of policies.entries()) {
    const hook = await webhookOf(server, agent, { name: `flooded ${index}`, policy }, world.apiKey);
    await server.setPlan(world.organizationId, "free");
    await server.clock.advance(61_000);
    const send = (address: string, more: Record<string, string> = {}): Promise<Called> =>
      call(hook.url, BODY, { headers: { "x-forwarded-for": address, ...more } });
    const from = "allowedAddresses" in policy ? "198.51.100." : "192.0.2.";
    const statuses = [];
    const began = await server.clock.now();
    for (let count = 0; count < 12; count++) statuses.push((await send(`${from}1`)).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 403), 429, 429]);
    const { headers, errors } = await send(`${from}1`, { "content-type": "text/plain" });
    expect(errors).toMatchObject([
      { message: expect.stringContaining("10 per address"), extensions: { code: "RATE_LIMITED" } },
    ]);
    // A minute after the first.
    const passedMs = (await server.clock.now()) - began;
    expect(Number(headers.get("retry-after"))).toBeLessThanOrEqual(60);
    expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual((60_000 - passedMs) / 1_000);
    // Others' come to a hundred.
    for (let other = 2; other < 11; other++)
      await Promise.all(Array.from({ length: 10 }, () => send(`${from}${other}`)));
    // Six seconds later there would be room for another one.
    await server.clock.set(began);
    expect((await send(`${from}11`)).status).toBe(429);
    // A caller with the scope to call does, also from an address that is refused.
    for (let count = 0; count < 10; count++) {
      const body = JSON.stringify({ count });
      const headers = { "x-forwarded-for": "192.0.2.1", ...SIGN["github"]!(body, 0) };
      expect((await call(hook.url, body, { headers })).status).toBe(202);
    }
    expect(
      (await call(hook.url, "{}", { headers: { "x-forwarded-for": "192.0.2.1", ...SIGN["github"]!("{}", 0) } })).status,
    ).toBe(429);
    await server.setPlan(world.organizationId, "enterprise");
    await server.clock.advance(6_000);
    const refused =
      "query($id: ID!) { trigger(id: $id) { firings(first: 200, outcome: [refused]) { nodes { code } } } }";
    const { trigger } = await server.data(refused, { id: hook.id }, world.apiKey);
    expect(trigger.firings.nodes).toHaveLength(100);
  }
});

test.each<[string, unknown, string]>([
  ["a text", "github", "signature"],
  ["an unknown preset", { preset: "other", secret: "plain" }, "signature.preset"],
  ["a list of presets", { preset: ["github"], secret: "plain" }, "signature.preset"],
  ["no secret", { preset: "github" }, "signature.secret"],
  ["no header", { preset: "header", secret: "plain" }, "signature.header"],
  ["an encoding too many", { preset: "shopify", secret: "plain", encoding: "base64" }, "signature.encoding"],
  ["another encoding", { preset: "header", secret: "plain", header: "x", encoding: "utf8" }, "signature.encoding"],
  ["a header too many", { preset: "github", secret: "plain", header: "x" }, "signature.header"],
  ["more", { preset: "github", secret: "plain", value: "mine" }, "signature.value"],
])("a signature with %s is refused", async (_, signature, path) => {
  const { errors } = await server.graphql(
    "mutation($input: CreateTriggerInput!) { createTrigger(input: $input) { id } }",
    { input: { agentId: echo, name: "x", trigger: { type: "webhook" }, policy: { signature } } },
  );
  expect(errors).toMatchObject([{ extensions: { fields: [{ path: `input.policy.${path}` }] } }]);
});

test("only some addresses may call, if it says which", async () => {
  const hook = await webhookOf(server, echo, {
    name: "from here",
    policy: { allowedAddresses: ["192.0.2.0/24", "2001:db8::1"] },
  });
  const from = async (address: string): Promise<number> =>
    (await call(hook.url, {}, { headers: { "x-forwarded-for": address } })).status;
  expect(await Promise.all(["192.0.2.7", "2001:db8::1", "192.0.3.1", "2001:db8::2"].map(from))).toEqual([
    202, 202, 403, 403,
  ]);
  expect((await call(hook.url)).status).toBe(403);
  expect(await firingsOf(server, hook, ["refused"])).toHaveLength(3);
});
