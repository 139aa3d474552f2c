/** The token of a webhook is in no line of the log, however little is left out of it. */
import { expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish } from "./agents.ts";
import { startTestServer } from "./client.ts";
import { connect, head } from "./raw.ts";
import { call, webhookOf } from "./webhooks.ts";

test("whatever comes of its calls, the token is not in the log", async () => {
  await using talkative = await startTestServer({ env: { LOG_LEVEL: "debug" } });
  const { url } = await webhookOf(talkative, await publish(talkative, "echo"));
  const { pathname } = new URL(url);
  expect((await call(url)).status).toBe(202);
  expect((await call(url, {}, { method: "GET" })).status).toBe(405);
  expect((await call(url, "x".repeat(LIMITS.bodyBytes + 1))).status).toBe(413);
  expect((await call(url, "{")).status).toBe(400);
  expect((await call(`${url}/x?y=${url}`)).status).toBe(404);
  {
    using raw = await connect(talkative);
    raw.write(`${head(1_000, undefined, "", pathname)}{"a":`);
    await talkative.measure();
  }
  {
    using raw = await connect(talkative);
    raw.write(`POST ${pathname} HTTP/1.1\r\nhost: localhost\r\nbroken\r\n\r\n`);
    await raw.closed;
    expect(raw.got()).toMatch(/^HTTP\/1\.1 400 /);
  }
  // Whatever the server had to say of them, it has said.
  expect((await call(url)).status).toBe(202);
  await talkative.stop();
  expect(talkative.log()).not.toContain(pathname.split("/").at(-1));
});
