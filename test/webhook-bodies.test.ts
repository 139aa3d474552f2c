/** Webhook calls besides plain JSON: types with parameters, forms, headers, queries, and calls that a filter passes over. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish } from "./agents.ts";
import { type Data } from "./client.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { call, firingsOf, webhookOf, type Called, type Webhook } from "./webhooks.ts";

let server: SharedServer;
let echo: string;
beforeAll(async () => {
  server = await sharedServer();
  echo = await publish(server, "echo");
});
afterAll(() => server[Symbol.asyncDispose]());

const FORM = "application/x-www-form-urlencoded";
const send = (hook: Webhook, body: unknown, type: string, more: Record<string, string> = {}, query = "") =>
  call(`${hook.url}?wait=20${query}`, body, { headers: { "content-type": type, ...more } });

describe("a Content-Type with parameters", () => {
  const origin = (): string => new URL(server.url).origin;
  const token = async (): Promise<string> => (await server.key(["events:write", "agents:read"])) ?? "";
  const DOORS: [string, (type: string) => Promise<Called>][] = [
    [
      "/graphql",
      async (type) =>
        call(
          `${origin()}/graphql`,
          { query: "{ __typename }" },
          { headers: { "content-type": type, authorization: `Bearer ${await token()}` } },
        ),
    ],
    ["a webhook", async (type) => call((await hookOf()).url, {}, { headers: { "content-type": type } })],
    [
      "/events",
      async (type) =>
        call(
          `${origin()}/events`,
          {},
          {
            headers: {
              "content-type": type,
              authorization: `Bearer ${await token()}`,
              "ce-specversion": "1.0",
              "ce-source": "shop",
              "ce-type": "paid",
              "ce-id": "1",
            },
          },
        ),
    ],
    [
      "/auth/session",
      (type) => call(`${origin()}/auth/session`, {}, { headers: { "content-type": type, origin: origin() } }),
    ],
  ];
  let hook: Promise<Webhook> | undefined;
  const hookOf = (): Promise<Webhook> => (hook ??= webhookOf(server, echo, { name: "typed" }));

  test.each(DOORS)("is JSON in UTF-8 at %s", async (door, at) => {
    for (const type of [
      "application/json",
      "application/json; charset=utf8",
      "Application/JSON;Charset=UTF-8",
      "application/json; odata=verbose",
      'application/json; profile="a;b=\\"c\\""; charset="utf-8"',
      ...(door === "/graphql" ? [] : ["application/vnd.api+json", "application/hal+json;charset=utf-8"]),
    ])
      expect((await at(type)).status, type).not.toBe(415);
    for (const [type, why] of [
      ["application/json; charset=iso-8859-1", "the Content-Type says charset=iso-8859-1: send the body in UTF-8"],
      ['application/json; charset="utf-16"', "the Content-Type says charset=utf-16: send the body in UTF-8"],
      ["text/plain; charset=utf-8", "must be application/"],
      ["application/json charset=utf-8", "must be application/"],
    ] as const)
      expect(await at(type), type).toMatchObject({
        status: 415,
        errors: [{ message: expect.stringContaining(why), extensions: { code: "BAD_REQUEST" } }],
      });
  });

  test("says the mode of a CloudEvent in any case", async () => {
    const event = {
      specversion: "1.0",
      source: "shop",
      type: "paid",
      datacontenttype: "application/json; odata=verbose",
    };
    for (const [type, body] of [
      ["Application/CloudEvents+JSON; charset=utf8; odata=verbose", { ...event, id: "2" }],
      ['application/cloudevents-batch+json;charset="UTF-8"', [{ ...event, id: "3" }]],
    ] as const)
      expect(
        await call(`${origin()}/events`, body, {
          headers: { "content-type": type, authorization: `Bearer ${await token()}` },
        }),
        type,
      ).toMatchObject({ status: 202, body: { events: [{ isRepeat: false }] } });
  });
});

describe("a form", () => {
  let hook: Webhook;
  beforeAll(async () => void (hook = await webhookOf(server, echo, { name: "forms", policy: { accept: "form" } })));

  test("is an object of texts; names that repeat have lists", async () => {
    const sent = await send(hook, "From=%2B4930&Body=a+b%26%C3%A9&n=1&tag=x&tag=y&tag=&flag&a%5B%5D=1", FORM);
    const output = { From: "+4930", Body: "a b&é", n: "1", tag: ["x", "y", ""], flag: "", "a[]": "1" };
    expect(sent).toMatchObject({ status: 200, body: { output } });
    const [firing] = await firingsOf(server, hook);
    expect(firing).toMatchObject({ outcome: "started", payload: output });
    expect((await send(hook, { n: 1 }, "application/json")).body.output).toEqual({ n: 1 });
    expect((await send(hook, "", `${FORM};charset=UTF-8`)).body.output).toEqual({});
    expect((await send(hook, "constructor=a&toString=b&prototype=c", FORM)).body.output).toEqual({
      constructor: "a",
      toString: "b",
      prototype: "c",
    });
  });

  test("with 1,000 fields is taken, with one more or what cannot be read it is 400", async () => {
    const fields = (count: number): string =>
      Array.from({ length: count }, (_, index) => `f${index % 10}=${index}`).join("&");
    expect((await send(hook, fields(1_000), FORM)).status).toBe(200);
    for (const [body, why] of [
      [fields(1_001), "more than 1000 fields"],
      [`${"&".repeat(1_000)}a=1`, "more than 1000 fields"],
      ["__proto__=a", "forbidden key"],
      ["a=%", "not percent-encoded UTF-8 in its field 1"],
      ["a=1&b=%ff", "not percent-encoded UTF-8 in its field 2"],
    ] as const)
      expect(await send(hook, body, FORM), body.slice(0, 20)).toMatchObject({
        status: 400,
        errors: [{ message: expect.stringContaining(why), extensions: { code: "BAD_REQUEST" } }],
      });
    expect((await send(hook, "a=1", `${FORM}; charset=latin1`)).status).toBe(415);
  });

  test("is 415 where the policy does not say that it is accepted", async () => {
    const strict = await webhookOf(server, echo, { name: "no forms" });
    expect((await send(strict, "a=1", FORM)).status).toBe(415);
  });
});

describe("a filter", () => {
  test("passes over what does not match: nothing starts, and the firing says why", async () => {
    const policy = { filter: { action: ["opened"], "issue.labels": ["bug", 7] } };
    const hook = await webhookOf(server, echo, { name: "filtered", policy });
    const calls: [object, string | undefined][] = [
      [{ action: "opened", issue: { labels: ["x", "bug"] } }, undefined],
      [{ action: "closed", issue: { labels: ["bug"] } }, "action"],
      [{ action: "opened", issue: { labels: ["7"] } }, "issue.labels"],
      [{}, "action"],
    ];
    for (const [body, field] of calls) {
      const { status, body: answer } = await call(hook.url, body);
      const [firing] = await firingsOf(server, hook);
      if (field === undefined) expect([status, firing.outcome]).toEqual([202, "started"]);
      else {
        expect([status, answer]).toEqual([200, { runId: null, status: "skipped" }]);
        expect(firing).toMatchObject({
          outcome: "skipped",
          policy: "filter",
          message: `the body does not match the trigger's filter: ${field}`,
          payload: body,
          run: null,
        });
      }
    }
    // By hand it is wanted.
    const [last] = await firingsOf(server, hook);
    const replayed = await server.data(
      "mutation($input: ReplayFiringInput!) { replayFiring(input: $input) { outcome run { id } } }",
      { input: { firingId: last.id } },
    );
    expect(replayed.replayFiring).toMatchObject({ outcome: "started", run: { id: expect.any(String) } });
  });

  test("is checked when it is given", async () => {
    const { errors } = await server.graphql(
      "mutation($input: CreateTriggerInput!) { createTrigger(input: $input) { id } }",
      {
        input: { agentId: echo, name: "wrong", trigger: { type: "webhook" }, policy: { filter: { action: "opened" } } },
      },
    );
    expect(errors).toMatchObject([
      { extensions: { code: "BAD_USER_INPUT", fields: [{ path: "input.policy.filter.action", code: "wrong_type" }] } },
    ]);
  });
});

describe("a mapping", () => {
  const mapping =
    '{kind: $headers["x-github-event"], shop: $query.shop, tags: $query.tag, body: ., all: $headers, q: $query}';
  const FIRINGS =
    "query($id: ID!) { trigger(id: $id) { firings(first: 1) { nodes { id outcome message request run { input } } } } }";
  const newest = async (hook: Webhook): Promise<Data> =>
    (await server.data(FIRINGS, { id: hook.id })).trigger.firings.nodes[0];

  test("sees the headers and the query, without credentials, and a replay sees the same", async () => {
    const hook = await webhookOf(server, echo, {
      name: "mapped",
      policy: { mapping, signature: undefined, deliveryHeader: "x-delivery" },
    });
    const secret = "not for anybody";
    const { status } = await send(
      hook,
      { a: 1 },
      "application/json",
      {
        "X-GitHub-Event": "push",
        "x-delivery": "one",
        cookie: secret,
        "proxy-authorization": secret,
        authorization: `Bearer ${hook.url.split("/").at(-1)}`,
        "x-gitlab-token": secret,
        "x-api-key": secret,
        "x-hub-signature-256": secret,
        "x-shopify-hmac-sha256": secret,
        "x-amzn-oidc-accesstoken": secret,
        "cf-access-jwt-assertion": secret,
        // As a proxy adds it: with the token of the URL.
        "x-original-uri": new URL(hook.url).pathname,
      },
      `&shop=a%20b&tag=1&tag=2&${["access_token", "authToken", "clientSecret", "pwd", "sessionid"].map((name) => `${name}=${encodeURIComponent(secret)}`).join("&")}`,
    );
    expect(status).toBe(200);
    const firing = await newest(hook);
    const input = {
      kind: "push",
      shop: "a b",
      tags: ["1", "2"],
      body: { a: 1 },
      q: { wait: "20", shop: "a b", tag: ["1", "2"] },
    };
    expect(firing).toMatchObject({
      outcome: "started",
      run: { input },
      request: { query: input.q, headers: { "x-github-event": "push" } },
    });
    expect(JSON.stringify(firing)).not.toContain(secret);
    expect(JSON.stringify(firing.request)).not.toContain(hook.url.split("/").at(-1));
    expect(Object.keys(firing.request.headers)).not.toContain("authorization");
    expect(firing.request.headers).toMatchObject({ "x-delivery": "one" });
    const { replayFiring } = await server.data(
      "mutation($input: ReplayFiringInput!) { replayFiring(input: $input) { outcome run { input } } }",
      { input: { firingId: firing.id } },
    );
    expect(replayFiring).toEqual({ outcome: "started", run: { input: firing.run.input } });
  });

  test("that uses neither keeps neither, and by hand they are null", async () => {
    const plain = await webhookOf(server, echo, { name: "plain", policy: { mapping: "{a: .a}" } });
    await send(plain, { a: 1 }, "application/json", { "x-github-event": "push" }, "&shop=%");
    expect(await newest(plain)).toMatchObject({ outcome: "started", request: null });
    const hook = await webhookOf(server, echo, { name: "by hand", policy: { mapping } });
    await server.data("mutation($input: FireTriggerInput!) { fireTrigger(input: $input) { id } }", {
      input: { triggerId: hook.id, payload: {} },
    });
    expect(await newest(hook)).toMatchObject({ request: null, run: { input: { kind: null, shop: null, all: null } } });
    expect(await send(hook, {}, "application/json", {}, "&shop=%")).toMatchObject({
      status: 422,
      errors: [{ message: "the query of the URL is not percent-encoded UTF-8 in its field 2" }],
    });
  });

  test("of an event has none of them", async () => {
    const { errors } = await server.graphql(
      "mutation($input: CreateTriggerInput!) { createTrigger(input: $input) { id } }",
      {
        input: {
          agentId: echo,
          name: "event",
          trigger: { type: "event", source: "shop", event: "paid" },
          policy: { mapping: "{a: $headers.a}" },
        },
      },
    );
    expect(errors).toMatchObject([{ extensions: { fields: [{ path: "input.policy.mapping", code: "invalid" }] } }]);
  });
});
