/** `run: script` over the wire (docs/definitions.md): what a script is given, what becomes of its result, its log and its errors. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { cli, settingsOf } from "./command-line.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { agentOf, ENDED, ran, readRun, runOf, stepsOf, until } from "./runs.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const script = (code: string, given = "{}", more = ""): string =>
  `{run: {script: {language: js, code: ${JSON.stringify(code)}, arguments: ${given}}}${more}}`;
const doing = (...tasks: string[]): string => `do: [${tasks.join(", ")}]\n`;
const one = (...asked: Parameters<typeof script>): string => doing(`{t: ${script(...asked)}}`);

const LOGS = "query($id: ID!) { run(id: $id) { steps { name kind status log input } } }";
const logsOf = async (id: string): Promise<Data[]> => (await server.data(LOGS, { id })).run.steps;

const problemsOf = async (body: string): Promise<Data[]> => {
  const definition = `document: {dsl: '1.0.3', namespace: test, name: checked, version: '1.0.0'}\n${body}`;
  const { validateDefinition } = await server.data(
    "query($definition: String!, $projectId: ID) { validateDefinition(definition: $definition, projectId: $projectId) { problems { path message severity line } } }",
    { definition, projectId: server.world.projectId },
  );
  return validateDefinition.problems;
};

describe("a script", () => {
  test("computes with its arguments, and its step has them, the output and the log", async () => {
    const code = `console.log("order", order.id);\nconsole.warn({ rate });\nreturn order.items.map((price) => price * rate)`;
    const run = await runOf(
      server,
      one(code, "{order: '${ . }', rate: 2, at: '${ $runtime.now.epoch.seconds > 0 }'}"),
      {
        id: "a",
        items: [1, 2.5],
      },
    );
    expect(run).toMatchObject({ status: "completed", output: [2, 5] });
    expect(await logsOf(run.id)).toEqual([
      {
        name: "t",
        kind: "script",
        status: "completed",
        log: 'order a\n{"rate":2}',
        input: { order: { id: "a", items: [1, 2.5] }, rate: 2, at: true },
      },
    ]);
  });

  test("in a loop, side by side and in a try whose second attempt succeeds", async () => {
    const run = await runOf(
      server,
      doing(
        `{loop: {for: {in: '\${ [1, 2] }'}, do: [{double: ${script("return 2 * n", "{n: '${ $item }'}")}}]}}`,
        `{both: {fork: {branches: [{left: ${script("return 'l'")}}, {right: ${script("return 'r'")}}]}}}`,
        `{again: {try: [{once: ${script("if (attempt < 2) throw new Error('first'); return both", "{attempt: '${ $task.attempt }', both: '${ . }'}")}}], catch: {retry: {delay: {milliseconds: 1}}}}}`,
      ),
    );
    expect(run).toMatchObject({ status: "completed", output: ["l", "r"] });
    expect(stepsOf(run).filter((step) => step === "double completed")).toHaveLength(2);
  });

  test("sees the time that its arguments have", async () => {
    const code = "return [Date.now(), now.epoch.milliseconds, new Date().getTimezoneOffset()]";
    const { output } = await runOf(server, one(code, "{now: '${ $runtime.now }'}"));
    expect(output[0]).toBeGreaterThanOrEqual(output[1]);
    expect(output[0] - output[1]).toBeLessThan(60_000);
    expect(output[2]).toBe(0);
  });

  test("keeps digits or refuses them with their place", async () => {
    const agent = await agentOf(server, one("return value", "{value: '${ . }'}"));
    const failed = await server.graphql(
      `mutation { runAgent(input: {agentId: "${agent}", wait: 30, input: {deep: [{id: 12345678901234567890}]}}) { status error { type detail } } }`,
    );
    expect(failed.data!["runAgent"]).toMatchObject({
      status: "failed",
      error: { detail: expect.stringContaining("the argument at /value/deep/0/id is 12345678901234567890") },
    });
    const text = await runOf(server, one("return id", "{id: '${ 12345678901234567890 | tostring }'}"));
    expect(text.output).toBe("12345678901234567890");
  });
});

describe("an error", () => {
  test.each([
    ["throw", "const a = 1;\nthrow new TypeError('no ' + a)", "script", /^TypeError: no 1 \(line 3, column \d+\)$/],
    ["a promise that stays pending", "return new Promise(() => {})", "script", /there are no timers/],
    [
      "an output that is nested too deep",
      `let a = 1; for (let i = 0; i < 100; i++) a = [a]; return a`,
      "script",
      /nested/,
    ],
    ["too much memory", "return new Uint8Array(1e8).length", "limit", /64 MiB of memory/],
    ["too large an output", "return 'x'.repeat(2e6)", "limit", /larger than 1048576 bytes/],
    ["too much time", "while (true) {}", "timeout", /longer than 250 ms of processor time; give the task a timeout/],
  ])("by %s", async (_, code, type, detail) => {
    const run = await runOf(server, one(`console.log("begun");\n${code}`));
    expect(run).toMatchObject({
      status: "failed",
      error: { detail: expect.stringMatching(detail), instance: "/do/0/t" },
    });
    expect(run.error.type).toMatch(new RegExp(`/${type}$`));
    expect((await logsOf(run.id))[0]).toMatchObject({ status: "failed", log: "begun" });
  });

  test("can be caught by its type", async () => {
    const body = doing(
      `{t: {try: [{s: ${script("null.x")}}], catch: {errors: {with: {type: 'https://serverlessworkflow.io/spec/1.0.0/errors/script'}}, as: e, do: [{d: {set: {said: '\${ $e.detail }'}}}]}}}`,
    );
    expect((await runOf(server, body)).output.said).toMatch(/^TypeError: .*null \(line 1, column \d+\)$/);
  });

  test("a timeout of its task gives it more time, and no more than that", async () => {
    const busy = "let n = 0; for (let i = 0; i < 3e6; i++) n = (n * 31 + i) | 0; return n";
    // Its 10 s of processor time may take longer by the clock.
    expect(await runOf(server, one(busy, "{}", ", timeout: {after: PT1H}"))).toMatchObject({ status: "completed" });
    const run = await runOf(server, one("console.log(1); for (;;) {}", "{}", ", timeout: {after: PT0.6S}"));
    expect(run).toMatchObject({ status: "failed", error: { status: 408 } });
  });
});

describe("when a definition is checked", () => {
  test("a mistake is a problem with its line and column, and the definition can't be published", async () => {
    const body = `do:\n  - a: {set: {n: 1}}\n  - t:\n      run:\n        script:\n          language: js\n          code: |\n            const a = 1;\n            const b = ;\n`;
    expect(await problemsOf(body)).toEqual([
      {
        path: "/do/1/t/run/script/code",
        line: 8,
        severity: "error",
        message:
          "the script does not compile: SyntaxError: unexpected token in expression: ';' (line 2, column 11 of the code)",
      },
    ]);
    await expect(agentOf(server, body)).rejects.toThrow(/does not compile/);
  });

  test("autograph validate says so, too", async () => {
    const definition = `document: {dsl: '1.0.3', namespace: test, name: checked, version: '1.0.0'}\n${one("return (")}`;
    const { code, stdout } = await cli(["validate", "-", "--json"], {
      env: { ...settingsOf(server), AUTOGRAPH_API_KEY: server.world.apiKey },
      stdin: definition,
    });
    expect(code).toBe(1);
    expect(stdout).toContain(
      "the script does not compile: SyntaxError: unexpected end of the code (line 1, column 9 of the code)",
    );
  });

  test("variables of its arguments are checked, and a long timeout is a warning", async () => {
    expect(await problemsOf(one("return a", "{a: '${ $nothing }'}"))).toMatchObject([
      { path: "/do/0/t/run/script/arguments/a", message: expect.stringContaining("$nothing is not known") },
    ]);
    expect(await problemsOf(one("return 1", "{}", ", timeout: {after: PT1M}"))).toMatchObject([
      { severity: "warning", message: expect.stringContaining("stopped after 10 s of processor time") },
    ]);
  });
});

test("one that a kill interrupts is run again, from what its arguments were, and no attempt is lost", async () => {
  const code = "let n = 0; const until = busy ? 5e7 : 1; for (let i = 0; i < until; i++) n = (n + i) | 0; return given";
  const id = await start(
    server,
    await agentOf(
      server,
      doing(
        `{t: ${script(code, "{busy: true, given: '${ $runtime.now.epoch.milliseconds }'}", ", timeout: {after: PT10S}")}}`,
      ),
    ),
  );
  const input: Data = await eventually(async () => {
    const [step] = await logsOf(id);
    return step?.["status"] === "running" && step["input"];
  });
  await server.kill();
  await server.restart();
  const run = await until(server, id, ...ENDED);
  expect(run.steps[0].input).toEqual(input);
  expect(run.steps[0].attempts).toHaveLength(1);
  // On a slow machine its time may be over instead.
  if (run.status === "completed") expect(run.output).toBe(input["given"]);
  else expect(run.error.status).toBe(408);
});

test("a cancel stops it", async () => {
  const id = await start(server, await agentOf(server, one("for (;;) {}", "{}", ", timeout: {after: PT1H}")));
  await eventually(async () => (await readRun(server, id)).steps[0]?.status === "running");
  await server.data("mutation($id: ID!) { cancelRun(runId: $id) { status } }", { id });
  expect(await until(server, id, ...ENDED)).toMatchObject({ status: "cancelled", steps: [{ status: "cancelled" }] });
  expect(await ran(server, await agentOf(server, one("return 1")))).toMatchObject({ output: 1 });
  expect(LIMITS.scriptMaxMs).toBe(10_000);
});
