import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bundled } from "./bundle.ts";
import { startProcess } from "./cli-process.ts";
import { eventually, post, startTestServer } from "./client.ts";
import { cli, cliJson, settingsOf } from "./command-line.ts";
import { sharedPostgres } from "./postgres.ts";
import { copyFresh } from "./server-process.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "autograph-test-"));
  // PostgreSQL's user passes through it when the test runs as root.
  chmodSync(folder, 0o711);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const LOGIN =
  "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }";
const AGENTS = "{ me { name } agents { handle status project { handle } } }";

describe("with no server", () => {
  test("setup makes the owner, a key and the demo project; the server that starts later has them", async () => {
    const env = { DATA_DIR: path.join(folder, "data") };
    const setup = ["setup", "--organization", "Acme", "--email", "ada@example.org", "--json"];
    const made = JSON.parse((await startProcess(setup, { env }).ended).stdout);
    expect(made).toMatchObject({
      organization: "Acme",
      email: "ada@example.org",
      apiKey: expect.stringMatching(/^ag_live_/),
    });
    expect(made.password).toHaveLength(20);

    const again = await cli(["setup", "--json"], { env });
    expect(again).toEqual({ code: 1, stdout: "", stderr: "autograph: Autograph is already set up: sign in instead\n" });

    const serving = startProcess([], {
      env: { ...env, LOG_LEVEL: "warn" },
      file: bundled("main"),
    });
    const [, url] = await eventually(() => /^ready at (\S+)$/m.exec(serving.stdout));
    const { data } = await post(`${url}/graphql`, AGENTS, {}, made.apiKey);
    expect(data.me.name).toBe("ada");
    expect(data.agents.map((agent: any) => agent.project.handle)).toEqual(data.agents.map(() => "demo"));
    expect(data.agents.length).toBeGreaterThanOrEqual(4);
    // The webhooks' tokens were sealed with the key that the server has.
    const triggers = "{ triggers { nodes { name type status url agent { handle } } } }";
    const triggersMade = (await post(`${url}/graphql`, triggers, {}, made.apiKey)).data.triggers.nodes;
    const webhook = expect.stringMatching(/\/webhook\/agent_\w+\/[\w-]{43}$/);
    expect(triggersMade.toSorted((one: any, other: any) => one.name.localeCompare(other.name))).toEqual([
      { name: "contact form", type: "webhook", status: "active", url: webhook, agent: { handle: "support-triage" } },
      { name: "every Friday", type: "cron", status: "paused", url: null, agent: { handle: "release-notes" } },
      { name: "orders of the shop", type: "event", status: "active", url: null, agent: { handle: "order-intake" } },
      {
        name: "paper for the office, every Monday",
        type: "cron",
        status: "paused",
        url: null,
        agent: { handle: "order-intake" },
      },
      { name: "shop", type: "webhook", status: "active", url: webhook, agent: { handle: "order-intake" } },
    ]);
    expect((await post(`${url}/graphql`, LOGIN, made, null)).data.login.accessToken).toBeTruthy();
    serving.kill("SIGTERM");
    expect((await serving.ended).code).toBe(0);
  });

  test("two at once wait for each other", async () => {
    const env = { DATA_DIR: path.join(folder, "data") };
    await copyFresh(env.DATA_DIR);
    const migrate = () => startProcess(["migrate", "--json"], { env }).ended;
    for (const { code, stdout } of await Promise.all([migrate(), migrate()])) {
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toEqual({ schema: expect.stringMatching(/^\d{4}-/), carriedOut: [] });
    }
  });

  test("a data folder that is a file is one line", async () => {
    const file = path.join(folder, "data");
    writeFileSync(file, "");
    const { code, stdout, stderr } = await cli(["setup"], { env: { DATA_DIR: file } });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^autograph: .*${file}.*\n$`));
  });
});

describe("beside the running server", () => {
  test("organizations, their plans and users' passwords", async () => {
    await using server = await startTestServer({ fresh: true });
    const env = settingsOf(server);
    const owner = await cliJson<any>(["setup"], {
      env: { ...env, ADMIN_EMAIL: "ada@example.org", ADMIN_PASSWORD: "a long password" },
    });
    expect(owner).not.toHaveProperty("password");
    expect((await server.graphql(LOGIN, { ...owner, password: "a long password" }, null)).errors).toBeUndefined();

    const org = await cliJson<any>(["org", "create", "Acme", "--owner", "bob@example.org", "--plan", "pro"], { env });
    expect(org).toMatchObject({ name: "Acme", plan: "pro", requestsPerMinute: null, owner: "bob@example.org" });
    const second = await cliJson<any>(["org", "create", "Acme", "--owner", "BOB@example.org"], { env });
    expect(second.ownerId).toBe(org.ownerId);
    const { stderr } = await cli(["org", "create", "Third", "--owner", "bob@example.org"], { env });
    expect(stderr).toMatch(
      /^bob@example\.org has an account since \d{4}-.+, and keeps its password: be sure that it is theirs\n$/,
    );
    expect((await cli(["org", "create", "Fourth", "--owner", "new@example.org"], { env })).stderr).toBe("");
    expect(second).not.toHaveProperty("password");

    const ambiguous = await cli(["org", "set-plan", "Acme", "free"], { env });
    expect(ambiguous).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(org.organizationId) });
    const { login } = await server.data(LOGIN, { email: "bob@example.org", password: org.password }, null);
    const limitNow = async (): Promise<number | null> => {
      await server.clock.advance(5_000);
      return (await server.data("{ rateLimit { limit } }", {}, login.accessToken)).rateLimit.limit;
    };
    expect(await limitNow()).toBe(1_000);
    const planned = ["org", "set-plan", org.organizationId, "enterprise", "--per-minute"];
    expect(await cliJson<any>([...planned, "5000"], { env })).toMatchObject({
      plan: "enterprise",
      requestsPerMinute: 5000,
    });
    expect(await limitNow()).toBe(5_000);
    expect(await cliJson<any>([...planned, "5000", "--model-tokens", "7000000"], { env })).toMatchObject({
      requestsPerMinute: 5000,
      modelTokensPerDay: 7_000_000,
    });
    expect(await cliJson<any>([...planned, "0"], { env })).toMatchObject({ requestsPerMinute: null });
    expect(await limitNow()).toBeNull();
    for (const wrong of [
      ["Acme Ltd", "free"],
      [org.organizationId, "gold"],
      [org.organizationId, "free", "--per-minute", "5"],
      [org.organizationId, "free", "--model-tokens", "5"],
      [org.organizationId, "enterprise", "--model-tokens", "1.5"],
    ]) {
      const { code, stdout, stderr } = await cli(["org", "set-plan", ...wrong], { env });
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^autograph: .+\n$/);
    }

    const { password } = await cliJson<any>(["user", "reset-password", "bob@example.org"], { env });
    expect(
      (await server.graphql(LOGIN, { email: "bob@example.org", password: org.password }, null)).errors,
    ).toHaveLength(1);
    expect((await server.graphql(LOGIN, { email: "bob@example.org", password }, null)).errors).toBeUndefined();
    const nobody = await cli(["user", "reset-password", "eve@example.org"], { env });
    expect(nobody).toEqual({
      code: 1,
      stdout: "",
      stderr: "autograph: there is no user with the e-mail eve@example.org\n",
    });
    expect((await cli(["user", "reset-password", "bob@example.org", "--password", "short"], { env })).stderr).toContain(
      "at least 10",
    );
  });

  test("a server that is starting is waited for", async () => {
    const env = { DATA_DIR: path.join(folder, "data") };
    await copyFresh(env.DATA_DIR);
    const serving = startProcess([], {
      env: { ...env, LOG_LEVEL: "warn" },
      file: bundled("main"),
    });
    await eventually(() => existsSync(path.join(folder, "data/instance.json")));
    const made = await cliJson<any>(["setup"], { env });
    const [, url] = await eventually(() => /^ready at (\S+)$/m.exec(serving.stdout));
    expect((await post(`${url}/graphql`, AGENTS, {}, made.apiKey)).errors).toBeUndefined();
    serving.kill("SIGTERM");
    await serving.ended;
  });
});

describe("with DATABASE_URL", () => {
  test("an empty database is set up, another program's schema is left alone", async () => {
    await using postgres = await sharedPostgres();
    const env = { DATABASE_URL: await postgres.createDatabase(), DATA_DIR: folder };
    // Where the key can't be kept it is printed all the same: nobody could read it again.
    mkdirSync(path.join(folder, "api.key"));
    const { code, stdout, stderr } = await cli(["setup"], { env });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^ag_live_\w+\n$/)]);
    expect(stderr).toContain(`can't be kept in ${path.join(folder, "api.key")}`);

    const client = new pg.Client(env.DATABASE_URL);
    await client.connect();
    const { rows } = await client.query("select name from autograph_migrations order by name");
    await client.query("insert into autograph_migrations values ('9999-later')");
    const newer = await cli(["org", "create", "Acme", "--owner", "bob@example.org"], { env });
    // The tests' shared PostgreSQL waits for no disk, and the operator is warned of it.
    const told = /^\{.*"DATABASE_URL: fsync is off there: .*\}\nautograph: .*newer.*\n$/;
    expect(newer).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(told) });
    expect(await cli(["migrate"], { env })).toMatchObject({ code: 1, stderr: expect.stringContaining("newer") });
    expect(rows.length).toBeGreaterThan(0);
    // As a version before the first release left it.
    await client.query("alter table autograph_migrations rename to kysely_migration");
    const before =
      /^(autograph: )?This data is of a version before the first release.*: start with a new data folder.*\n$/m;
    for (const command of [["migrate"], ["org", "list"]]) {
      expect(await cli(command, { env })).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(before) });
    }
    const serving = startProcess([], { env, file: bundled("main") });
    expect(await serving.ended).toMatchObject({ code: 1, stderr: expect.stringMatching(before) });
    await client.end();
  });

  test("one that can't be reached is one line without its password", async () => {
    const { code, stdout, stderr } = await cli(["migrate"], {
      env: { DATABASE_URL: "postgres://ada:secret@127.0.0.1:1/x" },
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^autograph: DATABASE_URL: .*127\.0\.0\.1:1.*\n$/);
    expect(stderr).not.toContain("secret");
  });
});
