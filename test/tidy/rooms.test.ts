import { expect, test } from "vitest";
import { longFunctions } from "./functions.ts";
import { cycles, folderPairs, importsAgainst, readRooms, roomOf, scraps, unreached, warehouses } from "./rooms.ts";
import { parse, serverSources, textOf, webSources } from "./source.ts";

const rooms = readRooms(textOf("ARCHITECTURE.md"));
const sources = serverSources();

/** Files that are run and not imported. */
const ENTRIES = ["server/src/main.ts", "server/src/cli/main.ts", "server/src/graphql/print-schema.ts"];

/** An operation, a figure or a step of its own, in a few lines. */
const SMALL_THINGS = new Set([
  "server/src/engine/count-due.ts",
  "server/src/execution/journal/release-claim.ts",
  "server/src/graphql/documents/dropped-errors.ts",
  "server/src/runs/read/count-open-approvals.ts",
  "server/src/runs/rerun-run.ts",
  "server/src/runs/watch/look-again.ts",
  "server/src/triggers/webhooks/sealed-tokens.ts",
  "web/src/components/frame/told.tsx",
  "web/src/components/page-error.tsx",
  "web/src/pages/agents/agent-figures.ts",
  "web/src/pages/settings/scopes.ts",
]);

const sample = (path: string, text: string) => parse(`server/src/${path}`, text);

test("the table of rooms in ARCHITECTURE.md names every room and nothing that is not one", () => {
  const named = [...rooms.values()].flatMap((allowed) => [...allowed]);
  expect(named.filter((name) => !rooms.has(name))).toEqual([]);
  expect([...rooms.keys()].filter((room) => !sources.some(({ path }) => roomOf(path) === room))).toEqual([]);
  expect(rooms.get("lib")).toEqual(new Set());
  expect(rooms.get("realtime")).toEqual(new Set(["lib", "fairness", "storage"]));
  expect(rooms.get("cli")).toContain("app");
  expect(rooms.get("cli")).not.toContain("http");
});

test("an import goes along the table of rooms: move the code, hand it in from app.ts, or change the design", () => {
  const bad = sample("lib/a.ts", 'import { b } from "../storage/b.ts";');
  expect(importsAgainst(rooms, [bad])).toEqual(["server/src/lib/a.ts: lib may not import storage"]);
  expect(importsAgainst(rooms, [sample("helpers/a.ts", "")])).toHaveLength(1);
  expect(importsAgainst(rooms, sources)).toEqual([]);
});

test("the engine's contract is in words of runs: what an engine needs of a database stands in sql-engine.ts", () => {
  const contract = sources.find(({ path }) => path === "server/src/engine/engine.ts")!;
  expect(contract.imports.filter((target) => roomOf(target) !== "lib")).toEqual([]);
});

test("no cycle of imports: take what both need into a third file", () => {
  const bad = [sample("lib/a.ts", 'import "./b.ts";'), sample("lib/b.ts", 'export * from "./a.ts";')];
  expect(cycles(bad)).toEqual(["server/src/lib/a.ts → server/src/lib/b.ts → server/src/lib/a.ts"]);
  expect(cycles(sources)).toEqual([]);
});

test("every file is reached from an entry: remove it, or import it where it belongs", () => {
  const used = sample("main.ts", "new Worker(new URL(`./lib/w${extname(import.meta.filename)}`, import.meta.url));");
  const all = [used, sample("lib/w.ts", 'await import("./x.ts")'), sample("lib/x.ts", ""), sample("lib/y.ts", "")];
  expect(unreached(["server/src/main.ts"], all)).toEqual(["server/src/lib/y.ts"]);
  expect(unreached(ENTRIES, sources)).toEqual([]);
});

test("a folder has at most 30 files: look for the two things in it", () => {
  const list = (count: number) => Array.from({ length: count }, (_, index) => sample(`lib/${index}.ts`, ""));
  expect(warehouses(30, list(30))).toEqual([]);
  expect(warehouses(30, list(31))).toEqual(["server/src/lib: 31 files"]);
  expect(warehouses(30, [...sources, ...webSources()])).toEqual([]);
});

test("folders point one way at every depth: move what both need below them, or what joins them above", () => {
  const bad = [
    sample("auth/auth.ts", 'import "./keys/key.ts";'),
    sample("auth/keys/key.ts", 'import "../caller.ts";'),
    sample("auth/caller.ts", ""),
  ];
  expect(folderPairs(bad)).toEqual(["server/src/auth: . ⇄ keys"]);
  const siblings = [
    sample("auth/keys/key.ts", 'import "../users/user.ts";'),
    sample("auth/users/user.ts", 'import "../keys/owner.ts";'),
  ];
  expect(folderPairs(siblings)).toEqual(["server/src/auth: keys ⇄ users"]);
  expect([...folderPairs(sources), ...folderPairs(webSources())]).toEqual([]);
});

test("a file that one file imports has at least 20 lines: write it there, unless that is a table of such files", () => {
  const table = sample(
    "runs/kinds.ts",
    ["a", "b", "c", "d", "e"].map((name) => `import "./kinds/${name}.ts";`).join(""),
  );
  const bad = [
    table,
    sample("runs/kinds/a.ts", ""),
    sample("runs/start.ts", 'import "./id.ts";'),
    sample("runs/id.ts", ""),
  ];
  expect(scraps(20, bad)).toEqual(["server/src/runs/id.ts: only server/src/runs/start.ts"]);
  const found = [...scraps(20, sources), ...scraps(20, webSources())].map((scrap) => scrap.split(":")[0]!);
  expect(found.filter((path) => !SMALL_THINGS.has(path))).toEqual([]);
  expect(
    [...SMALL_THINGS].filter((path) => !found.includes(path)),
    "no exception is left over",
  ).toEqual([]);
});

test("a function has at most 60 lines: give its second job a name", () => {
  const fields = `(t) => ({\n${"  id: t.id({}),\n".repeat(70)}})`;
  expect(longFunctions(60, sample("graphql/run.ts", `type("Run", ${fields});`))).toEqual([]);
  const long = sample("runs/start.ts", `function start() {\n${"  call();\n".repeat(70)}}`);
  expect(longFunctions(60, long)).toEqual(["server/src/runs/start.ts:1: 72 lines"]);
  expect([...sources, ...webSources()].flatMap((source) => longFunctions(60, source))).toEqual([]);
});

test("the rooms of the UI: a page imports no page, what pages share knows none, and every file is used", () => {
  const uiRooms = readRooms(textOf("ARCHITECTURE.md"), "Rooms of the UI");
  const uiSources = webSources();
  expect([...uiRooms.keys()].toSorted()).toEqual([...new Set(uiSources.map(({ path }) => roomOf(path)))].toSorted());
  expect(importsAgainst(uiRooms, uiSources)).toEqual([]);
  expect(cycles(uiSources)).toEqual([]);
  expect(unreached(["web/src/main.tsx"], uiSources)).toEqual([]);
  const pageOf = (path: string): string | undefined => /^web\/src\/pages\/([\w-]+)\//.exec(path)?.[1];
  const foreign = uiSources.flatMap(({ path, imports }) =>
    imports
      .filter((target) => pageOf(path) && pageOf(target) && pageOf(path) !== pageOf(target))
      .map((target) => `${path}: ${target}`),
  );
  expect(foreign).toEqual([]);
});
