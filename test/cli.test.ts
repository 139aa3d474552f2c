import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish } from "./agents.ts";
import { startProcess } from "./cli-process.ts";
import { beside, cli, cliJson } from "./command-line.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

describe("help", () => {
  test("autograph --help says what there is, --version the version", async () => {
    expect(await cli(["--help"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ {2}run /m), stderr: "" });
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
    const start = (option: string) => startProcess(["start", option], { file, env: { DATA_DIR: "/nowhere" } }).ended;
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
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("are made, listed, used and revoked", async () => {
    const env = beside(server);
    const made = await cliJson<any>(
      ["keys", "create", "build", "--scopes", "all", "--expires-at", "2999-01-01T00:00:00Z"],
      { env },
    );
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
    const { stdout, stderr } = await cli(
      ["keys", "create", `alone ${"x".repeat(60)}`, "--scopes", "runs:read,runs:start"],
      { env },
    );
    expect(stdout).toMatch(/^ag_live_\w+\n$/);
    expect(stderr).toContain("not shown again");
    const { stdout: table } = await cli(["keys", "list"], { env });
    expect(table.split("\n").filter((text) => text.length > 80)).toEqual([]);
    expect(table).toMatch(/^id +key +used +ends +name\n/);
    expect(table).toMatch(new RegExp(`^key_\\w+ +…${stdout.trim().slice(-4)} +never +never +alone x+…$`, "m"));
  });

  test("are narrowed to projects and agents, with the scopes of a preset", async () => {
    const env = beside(server);
    const agentId = await publish(server, "echo");
    const create = (...args: string[]) => cliJson<any>(["keys", "create", "narrow", ...args], { env });
    const narrow = await create("--preset", "run-agent", "--agent", "test/echo");
    expect(narrow).toMatchObject({
      scopes: ["agents:read", "runs:read", "runs:start"],
      projects: null,
      agents: [{ id: agentId }],
    });
    const { stdout } = await cli(["keys", "list"], { env: beside(server, narrow.secret) });
    expect(stdout).toBe("");
    const project = await create("--scopes", "runs:read", "--project", "test");
    expect(project).toMatchObject({ projects: [{ id: server.world.projectId, handle: "test" }], agents: null });
    const { stdout: table } = await cli(["keys", "list"], { env });
    expect(table).toMatch(/ never +narrow \(test\)\n.+ never +narrow \(test\/e[^ ]*\n/);
    for (const [args, why] of [
      [["--agent", "echo"], "say what the key may do: --scopes runs:start,runs:read or --preset read-only"],
      [["--preset", "run-agent"], "the preset run-agent is for certain agents: name them with --agent"],
      [["--preset", "read-only", "--project", "tset"], 'there is no project "tset"; did you mean "test"?'],
      [["--preset", "read-only", "--agent", "nobody"], 'there is no agent "nobody"'],
      [
        ["--preset", "everything", "--project", "test"],
        "input.scopes must not have admin for a key that is narrowed to projects or agents",
      ],
      [
        ["--preset", "read-only", "--scopes", "all"],
        "option '--scopes <scopes>' cannot be used with option '--preset <preset>'",
      ],
    ] as const) {
      const { code, stderr } = await cli(["keys", "create", "narrow", ...args], { env });
      expect([code, stderr], args.join(" ")).toEqual([1, expect.stringContaining(why)]);
    }
  });

  const ID = "key_00000000000000000000000000";
  test.for([
    [0, ["--version"], ""],
    [1, [], ""],
    [1, ["keys", "lits"], ""],
    [0, ["keys", "list"], ""],
    [1, ["keys", "revoke", ID], ""],
    [
      0,
      ["publish", "-"],
      "document: { dsl: 1.0.3, namespace: test, name: piped, version: 1.0.0 }\ndo: [{ a: { set: { n: 1 } } }]\n",
    ],
    [1, ["validate", "-"], "do: 1"],
    [1, ["run", "piped", "--input-file", "-"], "{"],
    [1, ["audit", "verify", "-"], "{}\n"],
    [1, ["password", "--email", "nobody@example.org"], "one line\n"],
    [1, ["secrets", "set", "piped", "--project", "none"], "value"],
    [0, ["org", "set-plan", "ORGANIZATION", "enterprise"], ""],
  ] as [number, string[], string][])(
    "as a process it ends by itself, with the same said: %i %j",
    async ([code, args, stdin]) => {
      const options = { env: beside(server), stdin };
      const filled = args.map((word) => (word === "ORGANIZATION" ? server.world.organizationId : word));
      const here = await cli(filled, options);
      expect(here.code).toBe(code);
      expect(await startProcess(filled, options).ended).toEqual(here);
    },
  );

  test("each mistake is one line", async () => {
    const env = beside(server);
    const lines = [
      await cli(["keys", "revoke", ID], { env }),
      await cli(["keys", "revoke", "nonsense"], { env }),
      await cli(["keys", "create", "", "--scopes", "all"], { env }),
      await cli(["keys", "create", "late", "--scopes", "all", "--expires-at", "yesterday"], { env }),
      await cli(["keys", "list", "--first", "1000"], { env }),
    ];
    for (const { code, stdout, stderr } of lines) {
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^autograph: (?!Variable).+\n$/);
    }
  });
});
