import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import type { Command } from "commander";
import { beforeAll, expect, test } from "vitest";
import { realClock } from "../lib/clock.ts";
import { createCommandLine, type Outside } from "./line/command-line.ts";
import { loadProgram, runCommandLine } from "./commands.ts";
import { createEnding } from "./line/ending.ts";

const ROOT = path.join(import.meta.dirname, "../../..");
const read = (file: string): string => readFileSync(path.join(ROOT, file), "utf8");
const GUIDE = read("docs/cli.md");

const said = { stdout: "", stderr: "" };
const stream = (name: keyof typeof said) =>
  new Writable({
    write(text, _encoding, done) {
      said[name] += String(text);
      done();
    },
  });
const outside: Outside = {
  environment: {},
  cwd: "/",
  clock: realClock,
  stdin: () => Readable.from([]),
  stdout: stream("stdout"),
  stderr: stream("stderr"),
  ending: createEnding(),
};

async function autograph(...args: string[]) {
  Object.assign(said, { stdout: "", stderr: "" });
  return { code: await runCommandLine(args, outside), ...said };
}

/** The commands that do something, by their whole name. */
const leavesOf = (command: Command, name = ""): [string, Command][] =>
  command.commands.length === 0
    ? [[name, command]]
    : command.commands.flatMap((one) => leavesOf(one, `${name} ${one.name()}`.trim()));

let leaves: [string, Command][];
beforeAll(async () => {
  leaves = leavesOf(await loadProgram(createCommandLine(outside)));
});

test("docs/cli.md names every command in its table, and no other", () => {
  const named = [...GUIDE.matchAll(/^\| \[(.+?)\]\(#/gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`(.+?)`/g)].map(([, name]) => name),
  );
  expect(new Set(named)).toEqual(new Set(leaves.map(([name]) => name)));
});

test("docs/cli.md has every option of a command in its chapter, and every command has --json", () => {
  const missing = leaves.flatMap(([name, command]) => {
    const chapter = GUIDE.split(/^## /m).find((text) => text.split(/\s/, 1)[0] === name.split(" ")[0]) ?? "";
    const options = command.options.map((option) => option.long!).filter((long) => !SHARED.has(long));
    return [...options.filter((long) => !chapter.includes(long)), ...(chapter.includes(`\`${name}`) ? [] : [name])].map(
      (word) => `${name}: ${word}`,
    );
  });
  expect(missing).toEqual([]);
  expect(leaves.filter(([, command]) => !command.options.some(({ long }) => long === "--json"))).toEqual([]);
});
/** Explained once, at the top of the page. */
const SHARED = new Set(["--json", "--url", "--api-key"]);

test("every command that the program and its docs mention exists", () => {
  const files = globSync(["README.md", "docs/**/*.md", "server/src/**/*.ts", "web/src/**/*.{ts,tsx}"], { cwd: ROOT });
  const told = files.flatMap((file) =>
    [...read(file).matchAll(/(?:`|npx | {4})autograph ([a-z][\w-]*)(?: ([a-z][\w-]*))?/g)].map(([, ...words]) => words),
  );
  const groups = Map.groupBy(leaves, ([name]) => name.split(" ")[0]);
  const isThere = ([noun, verb]: (string | undefined)[]): boolean => {
    const [[name] = [noun!]] = groups.get(noun) ?? [];
    if (!groups.has(noun)) return noun === "help";
    return verb === undefined || name === noun || groups.get(noun)!.some(([whole]) => whole === `${noun} ${verb}`);
  };
  expect(told.length).toBeGreaterThan(20);
  expect(told.filter((words) => !isThere(words)).map((words) => words.join(" "))).toEqual([]);
});

test("--help lists every command", async () => {
  const names = new Set(leaves.map(([name]) => name));
  const { stdout } = await autograph("--help");
  for (const name of names) expect(stdout).toMatch(new RegExp(`^  ${name.split(" ")[0]}\\b`, "m"));
});

test("help COMMAND is COMMAND --help, on stdout", async () => {
  for (const words of ["runs", "runs list", "setup"]) {
    const asked = await autograph("help", ...words.split(" "));
    expect(asked).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining(`Usage: autograph ${words}`) });
    expect(asked).toEqual(await autograph(...words.split(" "), "--help"));
  }
  expect(await autograph("help")).toMatchObject({ code: 0, stdout: expect.stringContaining("Usage: autograph") });
});

test("help for an unknown or mistyped command is one line with a suggestion", async () => {
  expect(await autograph("help", "runz")).toEqual({
    code: 1,
    stdout: "",
    stderr: "autograph: unknown command 'runz' (Did you mean one of run, runs?)\n",
  });
  expect(await autograph("runs", "lits")).toEqual({
    code: 1,
    stdout: "",
    stderr: "autograph: unknown command 'lits' (Did you mean list?)\n",
  });
  expect(await autograph("help", "runs", "lits")).toEqual(await autograph("runs", "lits"));
  expect((await autograph("help", "run", "order-intake")).stdout).toContain("Usage: autograph run ");
});
