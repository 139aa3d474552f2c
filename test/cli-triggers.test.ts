/** `trigger list|add|fire|firings`, as processes against a server. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { publish } from "./agents.ts";
import { beside, cli, cliJson } from "./command-line.ts";
import { connectTo } from "./faults/audit.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { call } from "./webhooks.ts";

let server: SharedServer;
const autograph = (...args: string[]) => cli(args, { env: beside(server) });
const json = (...args: string[]) => cliJson<any>(args, { env: beside(server) });
beforeAll(async () => {
  server = await sharedServer();
  await publish(server, "three");
});
afterAll(() => server[Symbol.asyncDispose]());

test("a webhook is added, called, fired and looked at", async () => {
  const { code, stdout } = await autograph(
    "trigger",
    "add",
    "three",
    "orders",
    "--type",
    "webhook",
    "--policy",
    '{"overlap": "skip"}',
  );
  expect(code).toBe(0);
  const [id, url] = stdout.trim().split("\n") as [string, string];
  expect(id).toMatch(/^trigger_/);
  const { body } = await call(`${url}?wait=20`, { n: 1 });
  expect(body).toMatchObject({ status: "completed" });
  expect(await json("trigger", "fire", id, "--payload", '{"n": "wrong"}')).toMatchObject({
    outcome: "refused",
    run: null,
  });
  expect((await autograph("trigger", "fire", id, "--payload", '{"n": 4}')).stdout).toMatch(/^started run_\w{26}\n$/);
  expect((await json("trigger", "firings", id)).map(({ outcome }: any) => outcome)).toEqual([
    "started",
    "refused",
    "started",
  ]);
  expect((await autograph("trigger", "firings", id)).stdout).toContain(body.runId);
  expect((await autograph("trigger", "list")).stdout).toMatch(
    new RegExp(`${id} +webhook +active +orders, three$`, "m"),
  );
});

test("an event is sent, and says what came of it", async () => {
  const { id } = await json(
    "trigger",
    "add",
    "three",
    "paid",
    "--type",
    "event",
    "--source",
    "shop",
    "--event",
    "paid",
  );
  const send = ["event", "send", "shop", "paid", "--id", "1", "--data", '{"n": 1}'];
  const { code, stdout } = await autograph(...send);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^event_\w{26}\nstarted run_\w{26} paid\n$/),
  });
  expect(await json(...send)).toMatchObject({
    id: stdout.split("\n")[0],
    sourceId: "1",
    firings: [{ outcome: "started", trigger: { id } }],
  });
  expect((await autograph("event", "send", "shop", "sent", "--id", "2")).stdout).toMatch(
    /\nno trigger matches it\npaid: it fires on the event paid\n$/,
  );
  expect((await autograph("event", "list", "--source", "shop")).stdout).toMatch(/shop paid 1$/m);
  expect((await json("event", "list", "--source", "shop", "--event", "paid")).map(({ id }: any) => id)).toEqual([
    stdout.split("\n")[0],
  ]);
  expect((await autograph("events", "list", "--source", "none")).stderr).toBe("there are no events\n");
  const refused = await autograph("event", "send", "shop", "paid", "--id", "1", "--data", "[]");
  expect({ code: refused.code, stderr: refused.stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining("--data"),
  });
});

test("an event is sent with a key that may publish and no more", async () => {
  const key = await server.key(["events:write"]);
  const send = ["event", "send", "shipping", "delivered", "--id", "1", "--api-key", key];
  const { code, stdout, stderr } = await autograph(...send);
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^event_\w{26}\n$/),
    stderr: "what came of it is not shown: the API key lacks runs:read\n",
  });
  expect(await json(...send)).toMatchObject({ id: stdout.trim(), firings: null, matches: null, misses: null });
});

test("an event that has not been fired yet is not said to match none", async () => {
  const add = ["trigger", "add", "three", "later", "--type", "event", "--source", "late", "--event", "paid"];
  const send = ["event", "send", "late", "paid", "--id", "1"];
  await autograph(...add);
  await autograph(...send);
  // As if it still waited behind others.
  const database = await connectTo(server);
  await database.query("delete from firings where event_id = (select id from events where source = 'late')");
  await database.end();
  expect((await autograph(...send)).stdout).toMatch(/^event_\w{26}\nlater matches it and has not been fired\n$/);
});

test("a schedule is added, and its mistakes are told", async () => {
  const made = await json(
    "trigger",
    "add",
    "three",
    "daily",
    "--type",
    "cron",
    "--schedule",
    "0 8 * * 1-5",
    "--timezone",
    "Europe/Berlin",
    "--input",
    '{"n": 1}',
  );
  expect(made).toMatchObject({ type: "cron", url: null, configuration: { trigger: { input: { n: 1 } } } });
  expect((await autograph("trigger", "list")).stdout).toMatch(
    new RegExp(`${made.id} +cron +20[-0-9]+ [:0-9]{5} +daily, three$`, "m"),
  );
  expect((await json("trigger", "list", "--agent", "three", "--first", "1")).map(({ id }: any) => id)).toEqual([
    made.id,
  ]);
  for (const [args, sentence] of [
    [["--type", "clock"], "--type must be one of cron"],
    [["--type", "cron", "--schedule", "x", "--timezone", "Europe/Berlin"], "trigger.schedule is refused"],
    [["--type", "webhook", "--policy", "[]"], "--policy must be a JSON object"],
  ] as const) {
    const { code, stderr } = await autograph("trigger", "add", "three", "wrong", ...args);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(sentence) });
  }
});
