/** The audit's export: whole, tamper-evident, and without anything secret; and what the operator does. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLog } from "../server/src/lib/log/log.ts";
import { connectServer } from "../server/src/storage/connect.ts";
import { attachStorage } from "../server/src/storage/open-storage.ts";
import {
  ACCEPT,
  INVITE,
  LOGIN,
  MAKE_KEY,
  MAKE_PROJECT,
  REVOKE_KEY,
  SET_SECRET,
  LIST,
  PASSWORD,
  done,
  eventsOf,
  here,
  list,
  open,
  pagesOf,
  refresh,
  send,
  signIn,
  tokenOf,
} from "./audit.ts";
import { cli, cliJson, settingsOf } from "./command-line.ts";
import { eventually, startTestServer, type TestServer } from "./client.ts";

let server: TestServer;
let folder: string;
beforeAll(async () => {
  server = await startTestServer({ env: { TRUSTED_PROXIES: "127.0.0.1/32" } });
  await open(server);
  for (let index = 0; index < 12; index++) await done(MAKE_PROJECT, { input: { handle: `p${index}`, name: "Made" } });
  folder = mkdtempSync(path.join(os.tmpdir(), "autograph-audit-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server[Symbol.asyncDispose]();
});

test("the operator's actions on the command line have the actor system", async () => {
  const env = settingsOf(here.server);
  const events = await eventsOf(async () => {
    await cliJson(["org", "set-plan", here.world.organizationId, "enterprise", "--per-minute", "100000"], { env });
    await send(SET_SECRET, { input: { projectId: here.world.projectId, name: "kept", value: "pl4nted" } });
    await cliJson(["secrets", "rotate-key"], { env });
    await cliJson(["user", "reset-password", here.world.email, "--password", PASSWORD], { env });
  });
  const system = { kind: "system", id: null, name: "Autograph" };
  const by = { actor: system, address: null, userAgent: null };
  const note = "command line";
  expect(events).toMatchObject([
    { ...by, action: "plan_set", detail: { note, plan: "enterprise", requestsPerMinute: 100_000, from: "enterprise" } },
    { action: "secret_set", actor: { kind: "key" } },
    { ...by, action: "secrets_key_rotated", subject: null, detail: { note, secrets: 1 } },
    { ...by, action: "password_reset", subject: { kind: "user" }, detail: { note } },
  ]);
  await cliJson(["tokens", "rotate-key"], { env });
  const filter = { action: ["signing_key_rotated"] };
  expect(await list({ filter })).toEqual([]);
  // Only the first organization, which is the operator's own, sees those of the whole installation.
  expect(await list({ filter }, here.server.world.apiKey)).toMatchObject([{ ...by, detail: { note, atOnce: false } }]);
  const key = (await list({ filter: { action: ["api_key_created"] } })).at(-1);
  expect(key).toMatchObject({ ...by, subject: { name: "test" }, detail: { note } });
  const first = (await list({ filter: { action: ["organization_created"] } })).at(-1);
  expect(first).toMatchObject({ ...by, number: 1, subject: { name: "audited" }, detail: { note, plan: "enterprise" } });
});

describe("the export", () => {
  const file = (): string => path.join(folder, "audit.jsonl");
  const exported = async (...args: string[]): Promise<{ text: string; head: string }> => {
    const { code, stdout, stderr } = await cli(["audit", "export", "--org", here.world.organizationId, ...args], {
      env: settingsOf(here.server),
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/ [0-9a-f]{64}\n$/) });
    return { text: stdout, head: stderr.trim().split(" ").at(-1)! };
  };
  const verify = (text: string, ...args: string[]) => {
    writeFileSync(file(), text);
    return cli(["audit", "verify", file(), ...args]);
  };

  test("has every event once, oldest first, and is whole", async () => {
    const all = await list();
    const { text, head } = await exported();
    const events = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.map(({ number, hash, event: { id } }) => ({ number, hash, id }))).toEqual(
      all.toReversed().map(({ number, hash, id }) => ({ number, hash, id })),
    );
    expect(head).toBe(all[0].hash);
    expect(await verify(text, "--head", all[5].hash)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`unbroken\nnumber ${all[5].number} has .*\nhead ${head}\n$`)),
    });
    writeFileSync(file(), text);
    expect(await cliJson(["audit", "verify", file()])).toEqual({
      organizationId: here.world.organizationId,
      first: 1,
      last: all.length,
      previous: "0".repeat(64),
      head,
    });
    const piped = await cli(["audit", "verify", "-"], { stdin: text });
    expect(piped).toMatchObject({ code: 0, stdout: expect.stringContaining(`head ${head}`) });
    expect((await cli(["audit", "verify", "-"], { stdin: "{}\n" })).stderr).toMatch(/^autograph: stdin, line 1 /);
    const part = await exported(
      "--created-from",
      all[9].at,
      "--created-before",
      new Date(Date.parse(all[3].at) + 1).toISOString(),
    );
    expect(await verify(part.text)).toMatchObject({ code: 0 });
    expect(text).toContain(part.text);
  });

  test.each<[string, (lines: string[]) => string[], RegExp]>([
    ["changed", (lines) => lines.with(4, lines[4]!.replace('"address":', '"address" :')), /line 5 was changed/],
    ["removed", (lines) => lines.toSpliced(6, 1), /line 7 comes too early: event 7 was removed before it/],
    ["inserted", (lines) => lines.toSpliced(6, 0, lines[2]!), /line 7 was inserted or moved/],
    ["moved", (lines) => lines.toSpliced(2, 1).toSpliced(6, 0, lines[2]!), /line 3 comes too early/],
  ])("a line that was %s is named", async (_, tamper, expected) => {
    const { text } = await exported();
    const lines = tamper(text.trimEnd().split("\n"));
    const { code, stdout, stderr } = await verify(`${lines.join("\n")}\n`);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(expected);
  });

  test("lines that were cut off the end are noticed by the head", async () => {
    const { text, head } = await exported();
    const cut = `${text.trimEnd().split("\n").slice(0, -2).join("\n")}\n`;
    expect(await verify(cut)).toMatchObject({ code: 0 });
    const { code, stderr } = await verify(cut, "--head", head);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("events at its end were removed") });
  });

  test("mistakes are one line", async () => {
    const env = settingsOf(here.server);
    for (const [args, line] of [
      [["export"], /there are several organizations: give --org with the id/],
      [["export", "--org", "Nobody"], /there is no organization "Nobody"/],
      [["export", "--org", here.world.organizationId, "--created-from", "yesterday"], /must be times with a zone/],
      [["verify", path.join(folder, "none")], /can't be read/],
      [["verify", folder], /can't be read/],
      [["verify", file(), "--head", "abc"], /64 characters/],
    ] as const) {
      const { code, stdout, stderr } = await cli(["audit", ...args], { env });
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(line);
      expect(stderr).toMatch(/^autograph: .+\n$/);
    }
    expect((await verify("")).stderr).toContain("has no events");
  });

  test("has nothing that anybody signs in with, nor a secret", async () => {
    const password = `pw ${randomBytes(12).toString("hex")}`;
    const value = `value ${randomBytes(12).toString("hex")}`;
    const made = await done(INVITE, { input: { role: "editor" } });
    const link = tokenOf(made);
    const email = "planted@audit.example.org";
    await done(ACCEPT, { input: { token: link, name: "Planted", email, password } }, null);
    const first = await signIn(email, password);
    const { refreshToken, accessToken } = (await refresh(first.refreshToken)).data.refreshToken;
    await send(LOGIN, { email, password: `${password} but wrong` }, null);
    const key = await done(MAKE_KEY, { input: { name: "planted", scopes: ["runs:read"] } });
    await done(SET_SECRET, { input: { projectId: here.world.projectId, name: "planted", value } });
    await done(REVOKE_KEY, { id: key.id });
    await refresh(first.refreshToken);
    await eventually(async () => (await list({ filter: { action: ["sign_in_failed"] } })).length === 1);
    const { text } = await exported();
    const planted = { password, value, link, key: key.secret, refreshToken, first: first.refreshToken, accessToken };
    for (const [name, secret] of Object.entries(planted)) {
      expect(text, name).not.toContain(secret);
      expect(text, name).not.toContain(secret.slice(-16));
    }
    expect(text).toContain("planted");
  });
});

test("the server's own role can't change the audit", async () => {
  const log = createLog("silent");
  const { databaseUrl, dataFolder } = here.server;
  await using database = databaseUrl
    ? await connectServer(databaseUrl, log)
    : (await attachStorage({ dataFolder, log }))!.database;
  const statements = [
    "update audit_events set action = 'x'",
    "delete from audit_events",
    "truncate audit_events",
    ...(here.server.isEmbedded
      ? ["drop table audit_events", "alter table audit_events disable trigger all", "drop schema public cascade"]
      : []),
  ];
  for (const statement of statements)
    await expect(database.query(statement), statement).rejects.toThrow(/permission denied|must be|append-only/);
});

test("after a kill there is never a change without its event, nor an event without its change", async () => {
  for (let kill = 0; kill < 2; kill++) {
    const enough = Promise.withResolvers<void>();
    let answered = 0;
    const line = async (name: string): Promise<void> => {
      for (let index = 0; index < 60; index++) {
        const input = { handle: `k${kill}-${name}-${index}`, name: "Killed" };
        const isAnswered = await send(MAKE_PROJECT, { input }).then(
          () => true,
          () => false,
        );
        if (isAnswered && ++answered === 40) enough.resolve();
      }
    };
    const lines = Promise.all(["a", "b", "c", "d"].map(line));
    await enough.promise;
    // In the middle of the next ones.
    await server.kill();
    await lines;
    await server.restart();
    const query = `query ($first: Int, $after: String) {
      projects(first: $first, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }`;
    const made = (await pagesOf(query)).map(({ id }) => id as string);
    const filter = { action: ["project_created"] };
    const told = (await pagesOf(LIST, { filter })).map(({ subject }) => subject.id as string);
    expect(told.toSorted()).toEqual(made.toSorted());
    expect(made.length).toBeGreaterThanOrEqual(40 * (kill + 1));
  }
});
