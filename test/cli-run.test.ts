import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundled } from "./bundle.ts";
import { beside, cli, cliJson, settingsOf, startCli } from "./command-line.ts";
import { eventually } from "./client.ts";
import { startLlmService, Writing } from "./llm-service.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

const PUBLISH = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
const head = (name: string): string => `document: { dsl: 1.0.3, namespace: test, name: ${name}, version: 1.0.0 }\n`;

const DEFINITIONS = [
  `${head("adds")}
input: { schema: { document: { type: object, required: [n], properties: { n: { type: number }, tags: { type: array, items: { type: string } }, loud: { type: boolean }, note: { type: string } } } } }
do: [ { add: { set: { n: "\${ .n + 1 }", tags: "\${ .tags }", loud: "\${ .loud }", note: "\${ .note }" } } } ]`,
  `${head("fails")}do: [ { break: { raise: { error: { type: "https://serverlessworkflow.io/spec/1.0.0/errors/runtime", status: 500, detail: "It \\e[31mbroke." } } } } ]`,
  `${head("echo")}do: [ { echo: { set: "\${ . }" } } ]`,
  `${head("asks")}do: [ { ask: { call: "approval:1.0.0@default", with: { question: "Go on?" } } } ]`,
  `${head("waits")}do: [ { first: { set: { n: 1 } } }, { wait: { wait: { seconds: 3 } } }, { last: { set: { n: 2 } } } ]`,
  // Until the test moves the clock: nobody is too slow to see it wait.
  `${head("held")}do: [ { first: { set: { n: 1 } } }, { wait: { wait: { hours: 1 } } }, { last: { set: { n: 2 } } } ]`,
];
const HOUR_MS = 3_600_000;

let server: MovedServer;
let folder: string;

beforeAll(async () => {
  server = await movedServer();
  folder = mkdtempSync(path.join(os.tmpdir(), "autograph-test-"));
  const { projectId } = server.world;
  for (const definition of DEFINITIONS) await server.data(PUBLISH, { input: { projectId, definition } });
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server[Symbol.asyncDispose]();
});

const run = (...args: string[]) => cli(["run", ...args], { env: beside(server) });
const refusal = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await run(...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^autograph: .+\n$/);
  return stderr;
};

describe("input", () => {
  test("key=value pairs are read as the form's fields want them", async () => {
    const pairs = ["n=1.5", "loud=true", "tags=a", "tags=b", "note=007"];
    const { output } = await cliJson<any>(["run", "adds", ...pairs, "--wait", "10"], { env: beside(server) });
    expect(output).toEqual({ n: 2.5, loud: true, tags: ["a", "b"], note: "007" });
  });

  test("a JSON text, a file or stdin, and pairs on top of it", async () => {
    const file = path.join(folder, "input.json");
    writeFileSync(file, '{"n": 1, "note": "file"}');
    const env = beside(server);
    const text = await cliJson<any>(["run", "adds", "--input", '{"n": 1, "note": "text"}', "--wait", "10"], { env });
    const fromFile = await cliJson<any>(["run", "adds", "--input-file", file, "note=pair", "--wait", "10"], { env });
    const piped = await cliJson<any>(["run", "adds", "--input-file", "-", "--wait", "10"], { env, stdin: '{"n": 4}' });
    expect([text.output.note, fromFile.output.note, piped.output.n]).toEqual(["text", "pair", 5]);
  });

  test("texts of others move no cursor, neither in a refusal nor in an output, even where JSON does not escape them", async () => {
    const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/;
    const refused = await refusal("adds", "--input", JSON.stringify({ n: 1, "a\u001b[2J\u009b31m": 1 }));
    expect(refused).toContain("a?[2J?31m");
    expect(refused).not.toMatch(controls);
    const input = JSON.stringify({ "a\u001b[2J\u009b31m": "\u009b2J\u007f\u2028" });
    for (const args of [
      ["--wait", "10"],
      ["--wait", "10", "--json"],
    ]) {
      const { code, stdout, stderr } = await run("echo", "--input", input, ...args);
      expect([code, `${stdout}${stderr}`]).toEqual([0, expect.not.stringMatching(controls)]);
      expect(stdout).toContain(String.raw`\u009b2J\u007f\u2028`);
    }
  });

  test("an invalid input is one line that says what is valid", async () => {
    expect(await refusal("adds", "--input", "{n: 1}")).toContain("--input is not valid JSON");
    expect(await refusal("adds", "--input", "[1]")).toContain('must be a JSON object like {"n": 1}');
    expect(await refusal("adds", "--input", '{"__proto__": 1}')).toContain("forbidden key");
    expect(await refusal("adds", "--input", "{}", "--input-file", "x")).toContain("not both");
    expect(await refusal("adds", "--input-file", "/nowhere/input.json")).toContain("/nowhere/input.json");
    expect(await refusal("adds", "n")).toContain('"n" is not of the form key=value');
    expect(await refusal("adds", "n=1", "n=2")).toContain("n is given twice");
  });

  test("each field that breaks the form is named", async () => {
    expect(await refusal("adds", "n=many", "colour=red")).toContain(": n: must be a number; colour: there is no field");
    expect(await refusal("adds")).toBe("autograph: the input does not fit the agent's form: n: is missing\n");
  });

  test("an input that is too large is refused, read or not", async () => {
    const file = path.join(folder, "large.json");
    writeFileSync(file, JSON.stringify({ n: 1, note: "x".repeat(700_000) }));
    expect(await refusal("adds", "--input-file", file)).toMatch(/640/);
    writeFileSync(file, JSON.stringify({ n: 1, note: "x".repeat(2_000_000) }));
    expect(await refusal("adds", "--input-file", file)).toContain("more than 640 kB");
  });
});

describe("the agent", () => {
  test("by handle, project/handle or id", async () => {
    const env = beside(server);
    const { agents } = await server.data("{ agents { id handle } }");
    const { id } = agents.find((agent: any) => agent.handle === "adds");
    for (const name of ["adds", "test/adds", id]) {
      expect((await cliJson<any>(["run", name, "n=1"], { env })).agent.handle).toBe("adds");
    }
    expect(
      (await cliJson<any>(["run", "adds", "n=1", "--project", "test", "--version", "1.0.0"], { env })).version,
    ).toBe("1.0.0");
    const { projectId } = server.world;
    expect((await cliJson<any>(["run", "adds", "n=1", "--project", projectId], { env })).agent.handle).toBe("adds");
  });

  test("one of two with the same handle needs its project", async () => {
    await server.data('mutation { createProject(input: {handle: "second", name: "Second"}) { id } }');
    for (const namespace of ["test", "second"]) {
      const definition = `${head("twin").replace("namespace: test", `namespace: ${namespace}`)}do: [ { one: { set: { in: ${namespace} } } } ]`;
      await server.data(PUBLISH, { input: { definition } });
    }
    expect(await refusal("twin")).toMatch(/2 projects have an agent twin: say which, as (test|second)\/twin or /);
    const { output } = await cliJson<any>(["run", "second/twin", "--wait", "10"], { env: beside(server) });
    expect(output).toEqual({ in: "second" });
  });

  test("an unknown one is refused with what is near", async () => {
    expect(await refusal("ads", "n=1")).toContain('there is no agent "ads"; did you mean "adds"?');
    expect(await refusal("other/adds", "n=1")).toContain("in the project other");
    expect(await refusal("agent_00000000000000000000000000", "n=1")).toMatch(/not found/i);
    expect(await refusal("adds", "n=1", "--version", "9.9.9")).toMatch(/9\.9\.9|not found/i);
  });
});

describe("what it answers", () => {
  test("at once, with the accepted run", async () => {
    const started = await cliJson<any>(["run", "waits"], { env: beside(server) });
    expect(started).toMatchObject({
      id: expect.stringMatching(/^run_/),
      status: "running",
      progress: expect.any(Number),
    });
  });

  test("the same run for the same idempotency key", async () => {
    const args = ["run", "adds", "n=1", "--idempotency-key", "once"];
    const [first, second] = [
      await cliJson<any>(args, { env: beside(server) }),
      await cliJson<any>(args, { env: beside(server) }),
    ];
    expect(second.id).toBe(first.id);
    expect(await refusal("adds", "n=2", "--idempotency-key", "once")).toMatch(/idempotency|another/i);
  });

  test("with --wait an exit code for each way it can stand", async () => {
    const codes = { adds: 0, fails: 1, asks: 3, held: 4 };
    for (const [name, code] of Object.entries(codes)) {
      // A run that is ending gets the time for it.
      const wait = name === "held" ? "1" : "30";
      const { code: ended, stdout } = await run(name, ...(name === "adds" ? ["n=1"] : []), "--wait", wait);
      expect([name, ended]).toEqual([name, code]);
      expect(stdout).toMatch(/^run_\w+ of \w+ 1\.0\.0\n {2}1 {2}/);
    }
  });

  test("a step's own text can't move the cursor", async () => {
    expect((await run("fails", "--wait", "5")).stdout).toContain("It ?[31mbroke.");
  });

  test("with --watch the steps as they happen, then the output", async () => {
    const watching = startCli(["run", "held", "--watch"], { env: beside(server) });
    await eventually(() => watching.stdout.includes("running"));
    await server.clock.advance(HOUR_MS);
    const { code, stdout } = await watching.ended;
    expect(code).toBe(0);
    const shown = stdout.split("\n").map((text) =>
      text
        .replaceAll(/ +/g, " ")
        .replace(/(60 min )?[\d,.]+ m?s/, "…")
        .trim(),
    );
    expect(shown.slice(1)).toEqual([
      "1 first set completed …",
      "2 wait wait running …",
      "2 wait wait completed …",
      "3 last set completed …",
      "completed in …",
      "{",
      '"n": 2',
      "}",
      "",
    ]);
  });

  test("with --watch --json one event a line, the accepted run first and the ended one last", async () => {
    const { code, stdout } = await run("fails", "--watch", "--json");
    const events = stdout
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text));
    expect(code).toBe(1);
    expect(events[0]).toMatchObject({ revision: 0, run: { id: expect.stringMatching(/^run_/) } });
    expect(events.at(-1).run).toMatchObject({ status: "failed", error: { status: 500, stepNumber: 1 } });
    const revisions = events.map((event) => event.revision);
    expect(revisions).toEqual(revisions.toSorted((a, b) => a - b));
  });

  test("a reader that has seen enough is no mistake", async () => {
    const main = bundled("cli/main");
    const script = '{ "$0" "$1" run waits --watch; echo "code $?" >&2; } | head -1';
    const env = { ...beside(server), PORT: "0", PATH: process.env["PATH"] };
    const { stdout, stderr } = await promisify(execFile)("sh", ["-c", script, process.execPath, main], { env });
    expect(stdout).toMatch(/^run_\w+ of waits 1\.0\.0\n$/);
    expect(stderr).toBe("code 0\n");
  });

  test("--watch goes on through a pause, and says what is asked", async () => {
    const watching = startCli(["run", "asks", "--watch"], { env: beside(server) });
    const [, approvalId] = await eventually(() =>
      /Go on\?\n +autograph approvals approve (approval_\w+)\n/.exec(watching.stderr),
    );
    await eventually(() => /ask +approval +paused/.test(watching.stdout));
    await server.data("mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { id } }", {
      input: { approvalId, decision: "approve" },
    });
    expect((await watching.ended).code).toBe(0);
  });

  test("--watch shows what a model writes: lines as they come, or below the steps of a screen until the step is over", async () => {
    await using model = await startLlmService();
    const { projectId } = server.world;
    const connection = { projectId, name: "writes", provider: "openai_compatible", baseUrl: model.url, model: "small" };
    await server.data(
      "mutation ($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }",
      {
        input: connection,
      },
    );
    const ask = "call: llm:1.0.0@default, with: { connection: writes, prompt: Hi }";
    const definition = `${head("writer")}do: [ { ask: { ${ask} } } ]`;
    await server.data(PUBLISH, { input: { projectId, definition } });
    const watch = async (columns?: number): Promise<string> => {
      const writing = new Writing();
      model.replies = [writing.reply];
      const watching = startCli(["run", "writer", "--watch"], {
        env: { ...beside(server), NO_COLOR: "1" },
        ...(columns && { columns }),
      });
      await eventually(() => writing.count === 1);
      writing.text("Once upon\n", "a \u001b[2Jtime");
      await eventually(() => watching.stdout.includes("  1 | Once upon\n"));
      if (columns) await eventually(() => watching.stdout.includes("  1 | a ?[2Jtime"));
      else expect(watching.stdout).not.toContain("completed");
      writing.end();
      const { code, stdout } = await watching.ended;
      expect(code).toBe(0);
      return stdout.replaceAll(/run_\w+|[\d,.]+ m?s| +(?=\n)/g, "");
    };
    const [step, end] = ["  1  ask                llm       completed", 'completed in , 340 tokens\n"Once upon'];
    expect(await watch()).toMatch(new RegExp(`\\n  1 \\| Once upon\\n  1 \\| a \\?\\[2Jtime\\n${step}.*\\n${end}`));
    const screen = await watch(40);
    // The lines are taken back, and the step stands where they were.
    const taken = screen.split("\u001b[J").at(-1)!;
    expect(taken).not.toContain("|");
    expect(screen).toMatch(new RegExp(`\u001b\\[2A\u001b\\[J${step}.*\\n${end}`));
  });

  test("--watch goes on when the server was killed and is back", async () => {
    const watching = startCli(["run", "held", "--watch", "--url", server.url], { env: beside(server) });
    await eventually(() => watching.stdout.includes("running"));
    await server.kill();
    await server.restart();
    await server.clock.advance(HOUR_MS);
    const { code, stdout, stderr } = await watching.ended;
    expect(code).toBe(0);
    expect(stderr).toContain("trying to go on");
    expect(stdout.match(/wait +completed/g)).toHaveLength(1);
    expect(stdout).toContain('"n": 2');
  });
});

describe("the server and the credential", () => {
  test("a key that may only start runs starts one by id, and waits for it", async () => {
    const { agentByHandle: adds } = await server.data('{ agentByHandle(project: "test", agent: "adds") { id } }');
    const env = beside(server, await server.key(["runs:start"]));
    const run = await cliJson<any>(["run", adds.id, "--input", '{"n": 1}', "--wait", "10"], { env });
    expect(run.status).toBe("completed");
    expect(run.steps).not.toEqual([]);
  });

  test("no server, no credential, a wrong one, something else at the URL: one helpful line each", async () => {
    // Given to nobody who asks for a free one.
    const url = "http://127.0.0.1:2";
    expect(await refusal("adds", "n=1", "--url", url)).toContain(
      `no server answers at ${url} (connection refused): start one with`,
    );
    expect(await refusal("adds", "n=1", "--api-key", "ag_live_wrong")).toMatch(/^autograph: this API key is [^(]+\n$/);
    expect(await refusal("adds", "n=1", "--api-key", "schlüssel")).toContain("characters that no key has");
    expect(await refusal("adds", "n=1", "--url", "ftp://example.org")).toContain("--url must be");
    expect(await refusal("adds", "n=1", "--url", `${server.url}/elsewhere`)).toMatch(
      /is no Autograph server|nothing at this path/,
    );
    const { code, stderr } = await cli(["run", "adds"], { env: settingsOf(server) });
    expect([code, stderr]).toEqual([1, expect.stringContaining("no API key: set AUTOGRAPH_API_KEY")]);
  });

  test("each mistyped word is one line", async () => {
    expect(await refusal("adds", "--wach")).toContain("unknown option '--wach' (Did you mean --watch?)");
    expect(await refusal("adds", "--wait", "31")).toContain("--wait must be whole seconds from 1 to 30");
    expect(await refusal("adds", "--wait", "5", "--watch")).toContain("not both");
    expect(await refusal()).toContain("missing required argument 'agent'");
  });
});
