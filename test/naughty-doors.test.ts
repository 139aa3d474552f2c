/**
 * Texts that have broken other programs, at the doors beside /graphql (naughty.test.ts): each comes back unchanged or is refused
 * politely.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { type Data } from "./client.ts";
import { naughtyAt } from "./hostile/naughty.ts";
import { agentOf } from "./runs.ts";
import { scaled } from "./scale.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { call, firingsOf, webhookOf } from "./webhooks.ts";

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const TEXTS = naughtyAt(0, scaled({ whole: 1, part: 4 }));

/** BAD_REQUEST: what is no JSON for us, an object with a key `__proto__`. */
const POLITE = ["BAD_REQUEST", "BAD_USER_INPUT"];

/** The texts as they are read back, in the order of the ids; many in one operation. */
async function readAll(type: string, ids: readonly string[], selection: string): Promise<Data[]> {
  const read: Data[] = [];
  for (let at = 0; at < ids.length; at += LIMITS.queryAliases) {
    const some = ids
      .slice(at, at + LIMITS.queryAliases)
      .map((id, index) => `a${index}: ${type}(id: "${id}") ${selection}`);
    const data = await server.data(`{ ${some.join(" ")} }`);
    read.push(...some.map((_, index) => data[`a${index}`]));
  }
  return read;
}

test("as a key and a value of a webhook's body: unchanged in the firing and the run, or refused", async () => {
  const hook = await webhookOf(server, await agentOf(server, "do: [{one: {set: '${ . }'}}]"), { name: "naughty" });
  const started: { id: string; body: object }[] = [];
  for (const text of TEXTS) {
    const body = { [text]: text };
    const called = await call(hook.url, body);
    expect([202, 400, 422], text).toContain(called.status);
    if (called.status === 202) started.push({ id: called.body.runId, body });
    else expect(POLITE, text).toContain(called.errors![0]!.extensions.code);
  }
  const read = await readAll(
    "run",
    started.map(({ id }) => id),
    "{ input firing { payload } }",
  );
  expect(read).toEqual(started.map(({ body }) => ({ input: body, firing: { payload: body } })));
  expect(started.length).toBeGreaterThan(TEXTS.length - 10);
  expect(await firingsOf(server, hook, ["refused"])).toHaveLength(TEXTS.length - started.length);
});

type Attributes = { source: string; type: string; id: string };
/** By the attributes in the body or, percent-encoded, in the head. */
async function send(mode: "structured" | "binary", attributes: Attributes, data: object): Promise<Data> {
  const all = { specversion: "1.0", ...attributes };
  const inHead = (): Record<string, string> =>
    Object.fromEntries(Object.entries(all).map(([key, value]) => [`ce-${key}`, encodeURIComponent(value)]));
  const response = await fetch(`${server.url}/events`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${server.world.apiKey}`,
      "content-type": mode === "binary" ? "application/json" : "application/cloudevents+json",
      ...(mode === "binary" && inHead()),
    },
    body: JSON.stringify(mode === "binary" ? data : { ...all, data }),
  });
  return { status: response.status, body: await response.json() };
}

test.each(["structured", "binary"] as const)("in a CloudEvent, %s: unchanged, or refused by name", async (mode) => {
  const accepted: { id: string; event: object }[] = [];
  const publishOne = async (attributes: Attributes, data: object, text: string): Promise<boolean> => {
    const { status, body } = await send(mode, attributes, data);
    expect([202, 400], text).toContain(status);
    if (status === 400) {
      const { code, fields } = body.errors[0].extensions;
      expect([code, fields?.length > 0], text).toEqual(
        text === "__proto__" ? ["BAD_REQUEST", false] : ["BAD_USER_INPUT", true],
      );
    } else {
      const { source, type: event, id: sourceId } = attributes;
      accepted.push({ id: body.events[0].id, event: { source, event, sourceId, data } });
    }
    return status === 202;
  };
  // A lone surrogate has no percent-encoding.
  const texts = TEXTS.filter((text) => mode === "structured" || text.isWellFormed());
  for (const [index, text] of texts.entries()) {
    if (await publishOne({ source: `${mode} ${text}`, type: text, id: text }, { [text]: text }, text)) continue;
    // Its data alone.
    await publishOne({ source: mode, type: "data", id: `${index}` }, { [text]: text }, text);
  }
  const read = await readAll(
    "event",
    accepted.map(({ id }) => id),
    "{ source event sourceId data }",
  );
  expect(read).toEqual(accepted.map(({ event }) => event));
  expect(accepted.length).toBeGreaterThan(texts.length - 10);
});

test("as an e-mail and a password at a page's sign-in: refused politely", async () => {
  const statuses = new Set<number>();
  for (const text of TEXTS) {
    const response = await fetch(`${server.url}/auth/session`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: new URL(server.url).origin },
      body: JSON.stringify({ email: text, password: text }),
    });
    await response.text();
    expect([400, 401, 429], text).toContain(response.status);
    statuses.add(response.status);
  }
  expect(statuses).toContain(401);
});

test("the log has no error", () => {
  expect(server.log()).not.toMatch(/"level":[56]0/);
});
