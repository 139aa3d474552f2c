/** Scripts that never end, grow without limit or reach for what is not theirs: each fails with its reason, and nobody else notices. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { expectInTime } from "../../../test/in-time.ts";
import { checkDefinition } from "../definition/check-definition.ts";
import { problemsOfTask, whole } from "../definition/definitions.fixture.ts";
import { newId } from "../lib/ids.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { createLog } from "../lib/log/log.ts";
import { watchWorkers } from "../threads/watch-workers.testsuite.ts";
import { createScripts, type ScriptReply } from "./scripts.ts";

const log = createLog("silent");
const workers = watchWorkers();
const scripts = createScripts({ log });
afterAll(async () => {
  await scripts[Symbol.asyncDispose]();
  workers[Symbol.dispose]();
});
const [OURS, THEIRS] = [newId<"organization">(), newId<"organization">()];

type Asked = { organizationId?: typeof OURS; limitMs?: number; signal?: AbortSignal; now?: number };
const run = (
  code: string,
  given: JsonObject = {},
  { organizationId = OURS, limitMs = LIMITS.scriptMaxMs, now = 0, signal }: Asked = {},
): Promise<ScriptReply> =>
  scripts.run({
    organizationId,
    code,
    names: Object.keys(given),
    values: () => JSON.stringify(Object.values(given)),
    now,
    limitMs,
    ...(signal && { signal }),
  });
const outputOf = async (...asked: Parameters<typeof run>): Promise<unknown> => {
  const reply = await run(...asked);
  return "output" in reply ? JSON.parse(reply.output) : reply.problem;
};
const ofTime = (limitMs: number): object => ({
  is: "time",
  message: `the script took longer than ${limitMs} ms of processor time`,
});

test("no thread is started before the first script", async () => {
  using others = watchWorkers();
  await using unused = createScripts({ log });
  await sleep(50);
  expect(others.all).toHaveLength(0);
  await unused.run({ organizationId: OURS, code: "", names: [], values: () => "[]", now: 0, limitMs: 1_000 });
  expect(others.all).toHaveLength(1);
});

describe("what a script is given", () => {
  test("its variables, the clock and the zone that are fixed, and hashes of text and bytes", async () => {
    const code = `return {
      sum: a + b.c,
      now: [Date.now(), new Date().toISOString(), new Date().getTimezoneOffset(), String(new Date())],
      hashes: [crypto.sha256("é"), crypto.sha1("é"), crypto.md5(new Uint8Array([0xc3, 0xa9]))],
      signed: [crypto.hmacSha256("key", "data"), crypto.hmacSha1(new TextEncoder().encode("key").buffer, "data")],
      text: [btoa("ab"), atob("YWI="), new TextDecoder().decode(new TextEncoder().encode("é"))],
    };`;
    expect(await outputOf(code, { a: 1, b: { c: 2 } }, { now: 1_700_000_000_123 })).toEqual({
      sum: 3,
      now: [1_700_000_000_123, "2023-11-14T22:13:20.123Z", 0, "Tue Nov 14 2023 22:13:20 GMT+0000"],
      hashes: [
        "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c",
        "bf15be717ac1b080b4f1c456692825891ff5073d",
        "66ddcd97cfdeabb2f6fb8a999b4bc76f",
      ],
      signed: [
        "5031fe3d989c6d1537a013fa6e739da23463fdaec3b70137d828e36ace221bd0",
        "104152c5bfdca07bc633eebd46199f0255c9f49d",
      ],
      text: ["YWI=", "ab", "é"],
    });
  });

  test("random numbers and ids that no other script has", async () => {
    const code = "return [crypto.randomUUID(), Math.random(), Math.random()]";
    const made = [...((await outputOf(code)) as unknown[]), ...((await outputOf(code)) as unknown[])];
    expect(new Set(made).size).toBe(6);
    for (const number of made.filter((one) => typeof one === "number")) expect(number >= 0 && number < 1).toBe(true);
  });

  test("nothing else", async () => {
    const names = ["fetch", "require", "process", "setTimeout", "performance", "WebAssembly", "WeakRef", "Atomics"];
    expect(await outputOf(`return [${names.map((name) => `typeof ${name}`).join(", ")}]`)).toEqual(
      names.map(() => "undefined"),
    );
    expect(await outputOf("return import('fs')")).toMatchObject({ is: "threw" });
    expect(await outputOf("return [typeof this, typeof globalThis.constructor.constructor('return process')]")).toEqual(
      ["undefined", "function"],
    );
    for (const escape of ["(() => {})", "[]", "console.log", "crypto.sha256", "(async () => {})()", "Math.random"])
      expect(
        await outputOf(`return ${escape}.constructor.constructor("return typeof process + typeof require")()`),
      ).toBe("undefinedundefined");
  });
});

describe("what it answers with", () => {
  test.each([
    ["return 1", 1],
    ["", null],
    ["return undefined", null],
    ["return () => 1", null],
    ["return await Promise.resolve({ a: 1 })", { a: 1 }],
    ["return { then(resolve) { resolve([2]) } }", [2]],
    ["return new Date(0)", "1970-01-01T00:00:00.000Z"],
    ["return '\\ud800\\u0000'", "\ud800\u0000"],
  ])("%s", async (code, expected) => {
    expect(await outputOf(code)).toEqual(expected);
  });

  test.each([
    ["a BigInt, which JSON does not have", "return 1n", { is: "threw", message: /BigInt/ }],
    ["a circle", "const a = []; a[0] = a; return a", { is: "threw", message: /circular/ }],
    [
      "what can't be written",
      "return { toJSON() { throw new RangeError('no') } }",
      { is: "threw", message: /^RangeError: no$/ },
    ],
    ["a promise that stays pending", "return new Promise(() => {})", { is: "pending", message: /there are no timers/ }],
    ["a value that is no error", "throw { a: 1 }", { is: "threw", message: /^the script threw {"a":1}$/ }],
    ["a rejected promise", "return Promise.reject(new Error('no'))", { is: "threw", message: /^Error: no$/ }],
  ])("not with %s", async (_, code, { is, message }) => {
    expect(await outputOf(code)).toMatchObject({ is, message: expect.stringMatching(message) });
  });

  test.each([
    ["const a = 1;\nconst b = ;", { is: "syntax", line: 2, column: 11 }],
    ["if (true) {\n  return", { is: "syntax", line: 2, column: 9 }],
    ["\n\nconst é = `äöü😀`; null.x", { is: "threw", line: 3, column: 20 }],
    ["function inner() {\n  missing();\n}\ninner();", { is: "threw", line: 2, column: 3 }],
  ])("an error of %j has its line and column", async (code, place) => {
    expect(await outputOf(code)).toMatchObject(place);
  });
});

describe("limits", () => {
  const ENDLESS = [
    "while (true) {}",
    "while (true) { try { while (true) {} } catch {} }",
    "const again = () => Promise.resolve().then(again); await again()",
    "return /^(a+)+$/.test('a'.repeat(50) + 'b')",
    "return new Proxy({}, { get() { while (true) {} } })",
    "const e = new Error('x'); Object.defineProperty(e, 'message', { get() { while (true) {} } }); throw e",
    "throw { toJSON() { while (true) {} } }",
    "try { while (true) {} } finally { while (true) {} }",
    "class A { static { while (true) {} } }",
  ];
  test.each(ENDLESS)("LIMITS.scriptMs: %s", async (code) => {
    expect(await outputOf(code, {}, { limitMs: LIMITS.scriptMs })).toEqual(ofTime(LIMITS.scriptMs));
  });

  test("what takes long in one built-in function, too; its own thread alone is lost", async () => {
    const code = "const a = Array(5e5).fill(0).map(() => Math.random()); for (;;) a.sort()";
    expect(await outputOf(code, {}, { limitMs: LIMITS.scriptMs })).toMatchObject({ is: "time" });
    expect(await outputOf("return 1")).toBe(1);
  });

  test("one that may take longer gets its whole time, in another thread", async () => {
    const limitMs = 1_000;
    const before = workers.all.length;
    expect(await outputOf("while (true) {}", {}, { limitMs })).toEqual(ofTime(limitMs));
    expect(workers.all).toHaveLength(before + 1);
    expect(await outputOf("let n = 0; for (let i = 0; i < 2e6; i++) n += i; return n")).toBe(1_999_999_000_000);
  });

  test.each([
    "const all = []; for (;;) all.push(new Uint8Array(1e6).fill(1))",
    "const all = new Map(); for (let at = 0; ; at++) all.set(at, 'x'.repeat(1e6) + at)",
    "return 'x'.repeat(2 ** 29).length",
    "return new Uint8Array(2 ** 28).length",
    "return new Uint8Array(68_000_000).length",
    "return new Array(1e8).fill({}).length",
  ])("LIMITS.scriptMemoryBytes: %s", async (code) => {
    const reply = await outputOf(code);
    expect(reply).toMatchObject({ is: "memory", message: expect.stringContaining("64 MiB of memory") });
    expect(await outputOf("return new Uint8Array(4e7).length")).toBe(4e7);
  });

  test("LIMITS.scriptStackBytes: deep recursion can be caught, and leaves nothing behind", async () => {
    const deep =
      "let depth = 0; const down = () => { depth++; return down() + 1 }; try { down() } catch (e) { return [e.name, depth > 500] }";
    expect(await outputOf(deep)).toEqual(["RangeError", true]);
    for (const code of [
      "const down = () => down() + 1; down()",
      "let a = []; for (let i = 0; i < 30_000; i++) a = [a]; return JSON.stringify(a)",
      `return ${"(".repeat(20_000)}1${")".repeat(20_000)}`,
      `return JSON.parse("[".repeat(30000) + "]".repeat(30000))`,
      "const a = []; a.toString = () => String(a); return String(a)",
    ])
      expect(await outputOf(code)).toMatchObject({ message: expect.stringMatching(/stack/) });
    expect(await outputOf("return 1")).toBe(1);
  });

  test("LIMITS.outputBytes: an output of as many bytes passes", async () => {
    const of = (bytes: number): string => `return "x".repeat(${bytes - 2})`;
    expect((await outputOf(of(LIMITS.outputBytes))) as string).toHaveLength(LIMITS.outputBytes - 2);
    const problem = { is: "output", message: "the script's output is larger than 1048576 bytes" };
    expect(await outputOf(of(LIMITS.outputBytes + 1))).toEqual(problem);
    expect(await outputOf(`return "é".repeat(${LIMITS.outputBytes / 2})`)).toEqual(problem);
  });

  test("LIMITS.scriptLogLines and LIMITS.scriptLogBytes: as many are kept, the rest is cut", async () => {
    const logOf = async (code: string): Promise<string> => (await run(code)).log!;
    const lines = (count: number): string => `for (let i = 1; i <= ${count}; i++) console.log(i)`;
    expect((await logOf(lines(LIMITS.scriptLogLines))).split("\n").at(-1)).toBe(String(LIMITS.scriptLogLines));
    expect((await logOf(lines(LIMITS.scriptLogLines + 1))).split("\n").slice(-2)).toEqual([
      String(LIMITS.scriptLogLines),
      "… (the rest was cut)",
    ]);
    const bytes = (count: number): string => `console.warn("é".repeat(${count / 2}))`;
    expect(Buffer.byteLength(await logOf(bytes(LIMITS.scriptLogBytes)))).toBe(LIMITS.scriptLogBytes);
    expect(await logOf(bytes(LIMITS.scriptLogBytes + 2))).toMatch(/^é{8192}\n… \(the rest was cut\)$/);
  });

  test("what was written until an error or the end of its time is kept", async () => {
    expect(await run("console.log('a', { b: 1 }, undefined, new TypeError('c')); throw new Error('d')")).toMatchObject({
      log: 'a {"b":1} undefined TypeError: c',
    });
    expect(await run("console.error('e'); while (true) {}", {}, { limitMs: 300 })).toMatchObject({ log: "e" });
    expect((await run("return 1")).log).toBeNull();
  });

  test("LIMITS.scriptCharacters, LIMITS.scriptArguments and names of variables", () => {
    const of = (code: string, names: string[] = []): string[] =>
      problemsOfTask(
        `{run: {script: {language: js, code: ${JSON.stringify(code)}, arguments: ${JSON.stringify(Object.fromEntries(names.map((name) => [name, 1])))}}}}`,
      ).map(([, message]) => message);
    const many = (count: number): string[] => Array.from({ length: count }, (_, at) => `a${at}`);
    expect(of("x".repeat(LIMITS.scriptCharacters), many(LIMITS.scriptArguments))).toEqual([]);
    expect(of("x".repeat(LIMITS.scriptCharacters + 1))[0]).toContain("64000 characters");
    expect(of("x", many(LIMITS.scriptArguments + 1))[0]).toContain("at most 50 variables");
    expect(of("x", ["class"])).toEqual(["class is a word of JavaScript; choose another name"]);
    expect(of("x", ["a){}, evil(b"])[0]).toContain("a variable's name");
  });

  test("LIMITS.scriptsPerDefinition: so many different ones are compiled, each once", async () => {
    const of = (count: number): string =>
      whole(
        `do: [${Array.from({ length: 2 * count }, (_, at) => `{t${at}: {run: {script: {language: js, code: "return ${at % count}"}}}}`).join(", ")}]\n`,
      );
    let compiled = 0;
    const checkScript = async (): Promise<undefined> => void compiled++;
    const problemsOf = async (count: number): Promise<string[]> =>
      (await checkDefinition(of(count), async () => undefined, { checkScript })).problems.map(({ message }) => message);
    expect(await problemsOf(LIMITS.scriptsPerDefinition)).toEqual([]);
    expect(compiled).toBe(LIMITS.scriptsPerDefinition);
    expect(await problemsOf(LIMITS.scriptsPerDefinition + 1)).toEqual([
      "a definition may have 200 different scripts; this is one too many",
    ]);
  });
});

describe("the compiler", () => {
  test.each<[string, string[], object | undefined]>([
    ["return await 1", [], undefined],
    ["return 1 // the end", ["a"], undefined],
    ["while (true) {}", [], undefined],
    ["const a = ;", [], { is: "syntax", line: 1, column: 11 }],
    ["}); globalThis.a = 1; (async function () {", [], { is: "syntax", line: 1 }],
    ["}]; globalThis.a = 1; [async function () {", [], { is: "syntax", line: 1 }],
    ["with (a) {}", ["a"], { is: "syntax" }],
    ["(".repeat(60_000), [], { message: expect.stringContaining("stack") }],
  ])("%j", async (code, names, problem) => {
    const found = await scripts.check({ code, names }, OURS);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(problem);
  });
});

describe("others", () => {
  test("a script finds nothing of the one before, however that one left", async () => {
    const leave = `Object.prototype.left = 1; globalThis.left = 2; JSON.stringify = () => "left"; Promise.prototype.then = 1;
      Array.prototype.push = Function.prototype.call = String.prototype.slice = null; Math.random = () => 4; console.log = null;
      crypto.sha256 = () => "left"; Error.stackTraceLimit = 0; Date.now = () => 5;`;
    const look =
      "return [{}.left, globalThis.left, Date.now(), Math.random() < 1, crypto.sha256('').length, typeof [].push]";
    for (const end of ["return 'left'", "throw new Error('left')", "while (true) {}", "return 'x'.repeat(3e6)"]) {
      await run(leave + end, {}, { limitMs: LIMITS.scriptMs });
      expect(await outputOf(look)).toEqual([null, null, 0, true, 64, "function"]);
    }
    expect(await outputOf(`${leave} return ["own"]`)).toEqual(["own"]);
  });

  test("do not wait behind an organization that has queued endless scripts", async () => {
    const over = new AbortController();
    const { signal } = over;
    const endless = Array.from({ length: 40 }, (_, at) =>
      run(`while (true) {} // ${at}`, {}, { organizationId: THEIRS, signal }).catch(() => "stopped"),
    );
    await sleep(100);
    const since = performance.now();
    for (let at = 0; at < 5; at++) expect(await outputOf("return 1")).toBe(1);
    expectInTime(performance.now() - since, 3_000);
    over.abort();
    const outcomes = await Promise.all(endless);
    expect(outcomes.filter((one) => one === "stopped").length).toBeGreaterThan(20);
  });

  test("one organization has two of the three threads, and another the third", async () => {
    using own = watchWorkers();
    await using others = createScripts({ log });
    const endless = (organizationId: typeof OURS): Promise<unknown> =>
      others.run({ organizationId, code: "for (;;) {}", names: [], values: () => "[]", now: 0, limitMs: 50 });
    await Promise.all(Array.from({ length: 6 }, () => endless(THEIRS)));
    expect(own.all).toHaveLength(2);
    await Promise.all([THEIRS, THEIRS, OURS].map(endless));
    expect(own.all).toHaveLength(3);
  });

  test("a script that is no longer wanted is stopped at once", async () => {
    // Its thread has started.
    await run("return 1");
    const over = new AbortController();
    const stopped = run("while (true) {}", {}, { signal: over.signal, limitMs: LIMITS.scriptMs });
    await sleep(20);
    const since = performance.now();
    over.abort();
    await expect(stopped).rejects.toThrow("the script was stopped");
    expectInTime(performance.now() - since, 2_000);
  });

  test("the process keeps as little memory after many large ones as after a few", async () => {
    const large = async (count: number): Promise<number> => {
      for (let at = 0; at < count; at++)
        await run(
          "const all = []; for (let i = 0; i < 12; i++) all.push(new Uint8Array(1e6).fill(1)); return all.length",
        );
      return process.memoryUsage().rss;
    };
    const before = await large(10);
    expect((await large(100)) - before).toBeLessThan(250e6);
  });
});
