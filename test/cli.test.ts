import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { beside, cli, cliJson } from "./cli-process.ts";
import { startTestServer, type TestServer } from "./client.ts";

const COMMANDS = [
  "start",
  "setup",
  "run",
  "keys list",
  "keys create",
  "keys revoke",
  "user reset-password",
  "org create",
  "org set-plan",
  "migrate",
  "sandbox",
  "demo",
];

const GUIDE = readFileSync(path.join(import.meta.dirname, "../docs/cli.md"), "utf8");

describe("help", () => {
  test.each(COMMANDS)("autograph %s --help says what it does, on stdout, and has --json", async (command) => {
    const { code, stdout, stderr } = await cli([...command.split(" "), "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Usage: autograph ${command}`);
    expect(stdout).toContain("--json");
    const options = stdout.match(/(?<=^ {2}(?:-\w, )?)--[\w-]+/gm)!;
    expect([`\`${command}`, ...options].filter((word) => !GUIDE.includes(word))).toEqual([]);
  });

  test("autograph --help lists every command, --version the version", async () => {
    const { code, stdout } = await cli(["--help"]);
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${command.split(" ")[0]}\\b`, "m"));
    expect((await cli(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test("no command, or one that there is not, is exit code 1 with help or what is near", async () => {
    expect(await cli([])).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Usage: autograph") });
    for (const [typed, near] of Object.entries({ sandbx: "sandbox", toString: "" })) {
      const { code, stdout, stderr } = await cli([typed]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(new RegExp(`^autograph: unknown command '${typed}'.*${near}.*\n$`));
    }
  });

  test("`npm start` takes what `autograph start` takes, and starts nothing for a word it does not know", async () => {
    const file = path.join(import.meta.dirname, "../tools/run.js");
    const start = (option: string) => cli(["start", option], { file, env: { DATA_DIR: "/nowhere" } });
    expect(await start("--help")).toMatchObject({ code: 0, stdout: expect.stringContaining("Usage: autograph start") });
    const unknown = { code: 1, stdout: "", stderr: "autograph: unknown option '--bogus'\n" };
    expect(await start("--bogus")).toEqual(unknown);
  });

  test("settings that are wrong are a line each", async () => {
    const { code, stderr } = await cli(["migrate"], { env: { PORT: "many", LOG_LEVEL: "loud" } });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^autograph: PORT must be .+\nLOG_LEVEL must be one of .+\n$/);
  });
});

describe("keys", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("are made, listed, used and revoked", async () => {
    const env = beside(server);
    const made = await cliJson<any>(["keys", "create", "build", "--expires-at", "2999-01-01T00:00:00Z"], { env });
    expect(made).toMatchObject({
      id: expect.stringMatching(/^key_/),
      secret: expect.stringMatching(/^ag_live_/),
      name: "build",
    });
    expect(made.expiresAt).toBe("2999-01-01T00:00:00.000Z");

    const mine = beside(server, made.secret);
    const listed = await cliJson<any[]>(["keys", "list"], { env: mine });
    expect(listed.map((key) => key.name)).toEqual(["build", "test"]);
    expect(JSON.stringify(listed)).not.toContain(made.secret);
    expect(await cliJson<any[]>(["keys", "list", "--first", "1"], { env: mine })).toHaveLength(1);

    expect(await cliJson<any>(["keys", "revoke", made.id], { env })).toMatchObject({
      revokedAt: expect.stringContaining("T"),
    });
    const { code, stderr } = await cli(["keys", "list"], { env: mine });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^autograph: .+\n$/)]);
  });

  test("for people: the key alone on stdout, a table of all", async () => {
    const env = beside(server);
    const { stdout, stderr } = await cli(["keys", "create", "alone"], { env });
    expect(stdout).toMatch(/^ag_live_\w+\n$/);
    expect(stderr).toContain("not shown again");
    const { stdout: table } = await cli(["keys", "list"], { env });
    expect(table).toMatch(/^id +ends with +created +last used +state +name\n/);
    expect(table).toMatch(new RegExp(`^key_\\w+ +${stdout.trim().slice(-4)} .+ good +alone$`, "m"));
  });

  test("what is wrong is one line", async () => {
    const env = beside(server);
    const lines = [
      await cli(["keys", "revoke", "key_00000000000000000000000000"], { env }),
      await cli(["keys", "revoke", "nonsense"], { env }),
      await cli(["keys", "create", ""], { env }),
      await cli(["keys", "create", "late", "--expires-at", "yesterday"], { env }),
      await cli(["keys", "list", "--first", "1000"], { env }),
    ];
    for (const { code, stdout, stderr } of lines) {
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^autograph: (?!Variable).+\n$/);
    }
  });
});
