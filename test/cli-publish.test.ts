/** From a file to a published agent: `autograph publish`, `autograph validate`, and the docs' curl. */
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { beside, cli, cliJson } from "./command-line.ts";
import { type Data } from "./client.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

const GOOD = `document:
  dsl: '1.0.3'
  namespace: test
  name: from-file
  version: '1.0.0'
  title: Gruß
do:
  - first: {set: {n: 1}}
`;
/** Two mistakes. */
const BAD = GOOD.replace("from-file", "bad").replace("set:", "sett:").replace("title:", "tilte:");

let server: SharedServer;
let folder: string;
const file = (name: string): string => path.join(folder, name);
beforeAll(async () => {
  server = await sharedServer();
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "autograph-publish-"));
  fs.writeFileSync(file("good.yaml"), GOOD);
  fs.writeFileSync(file("bad.yaml"), BAD);
  fs.writeFileSync(file("bad-crlf.yaml"), BAD.replaceAll("\n", "\r\n"));
  const { document, ...rest } = {
    document: { dsl: "1.0.3", namespace: "test", name: "long", version: "1.0.0" },
    do: [],
  };
  fs.writeFileSync(
    file("long.json"),
    JSON.stringify({ document: { ...document, summary: "x".repeat(5_000) }, ...rest }),
  );
  fs.writeFileSync(file("latin1.yaml"), Buffer.from(GOOD, "latin1"));
  fs.writeFileSync(file("huge.yaml"), GOOD + "# ".padEnd(300_000, "x"));
});
afterAll(async () => {
  fs.rmSync(folder, { recursive: true, force: true });
  await server[Symbol.asyncDispose]();
});

const agents = async (): Promise<Data[]> => (await server.data("{ agents { handle } }")).agents;

test("a file is published in one command, again too, and by --json as one object", async () => {
  const env = beside(server);
  const { code, stdout, stderr } = await cli(["publish", file("good.yaml")], { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const [agent, id, ...more] = stdout.trimEnd().split("\n");
  expect(more).toEqual([]);
  expect(agent).toBe("test/from-file 1.0.0, active");
  expect(id).toMatch(/^agent_/);
  expect(await cliJson(["publish", "-"], { env, stdin: GOOD })).toEqual({
    id,
    handle: "from-file",
    name: "Gruß",
    status: "active",
    version: "1.0.0",
    project: { id: server.world.projectId, handle: "test" },
  });
});

const SHOWN = [
  /^<>:6:3: error: .*tilte.*\n6 \|   tilte: Gruß\n {2}\| {3}\^$/m,
  /^<>:8:13: error: .*sett.*\n8 \|   - first: \{sett: \{n: 1\}\}\n {2}\| {13}\^$/m,
];
const problemsOf = (text: string, name: string): string => text.replaceAll(file(name), "<>");

test("a file with mistakes is not published: each is shown at its place, on stderr", async () => {
  const { code, stdout, stderr } = await cli(["publish", file("bad.yaml")], { env: beside(server) });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  for (const shown of SHOWN) expect(problemsOf(stderr, "bad.yaml")).toMatch(shown);
  expect(stderr).toMatch(/\nautograph: nothing was published: the definition has 2 problems\n$/);
  expect(await agents()).not.toContainEqual({ handle: "bad" });
});

test.each(["bad.yaml", "bad-crlf.yaml"])(
  "validate shows each mistake of %s below its line, and ends with 1",
  async (name) => {
    const { code, stdout, stderr } = await cli(["validate", file(name)], { env: beside(server) });
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    for (const shown of SHOWN) expect(problemsOf(stdout, name)).toMatch(shown);
  },
);

test("a key that may read is enough to validate; --json has the problems", async () => {
  const env = { ...beside(server), AUTOGRAPH_API_KEY: await server.key(["agents:read"]) };
  const { code, stdout } = await cli(["validate", "-", "--json"], { env, stdin: BAD });
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    valid: false,
    problems: expect.arrayContaining([expect.objectContaining({ path: "/document/tilte", line: 6, column: 3 })]),
  });
  expect(await cli(["validate", file("good.yaml")], { env })).toEqual({
    code: 0,
    stdout: `${file("good.yaml")} is valid\n`,
    stderr: "",
  });
});

test("a warning is shown as one, and the definition is valid", async () => {
  const stdin = GOOD.replace("first: {", "first: {if: '${ .x = 1 }', ");
  const { code, stdout } = await cli(["validate", "-"], { env: beside(server), stdin });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^stdin:8:17: warning: .+\n8 \| .+\n {2}\| +\^\nstdin is valid\n$/);
});

test("a long line is cut to 80 columns", async () => {
  const { code, stdout } = await cli(["validate", file("long.json")], { env: beside(server) });
  expect(code).toBe(1);
  const [, source, caret] = stdout.split("\n");
  expect(source!.length).toBeLessThanOrEqual(80);
  expect(source![caret!.indexOf("^")]).toBe("[");
});

test.each([
  ["missing.yaml", /ENOENT/],
  ["", /can't be read/],
  ["latin1.yaml", /it is not UTF-8/],
  ["huge.yaml", /256 KiB/],
])("what is no such file is one line: %j", async (name, reason) => {
  for (const command of ["publish", "validate"]) {
    const { code, stdout, stderr } = await cli([command, file(name)], { env: beside(server) });
    expect({ code, stdout, lines: stderr.trimEnd().split("\n").length }).toEqual({ code: 1, stdout: "", lines: 1 });
    expect(stderr).toMatch(reason);
  }
});

test("a namespace that no project has is refused with what to do", async () => {
  const stdin = GOOD.replace("namespace: test", "namespace: nowhere");
  const { code, stderr } = await cli(["publish", "-"], { env: beside(server), stdin });
  expect(code).toBe(1);
  expect(stderr).toContain("no project with the handle nowhere");
});

test("the docs' curl publishes a file", async () => {
  const docs = fs.readFileSync(path.join(import.meta.dirname, "../docs/api.md"), "utf8");
  const [, command] = /```sh\n(node -p[\s\S]+?)```/.exec(docs)!;
  fs.writeFileSync(file("agent.yaml"), GOOD.replace("from-file", "by-curl"));
  const env = { PATH: `${path.dirname(process.execPath)}:${process.env["PATH"]}`, KEY: server.world.apiKey };
  const { stdout } = await promisify(execFile)("sh", ["-c", command!.replace("http://127.0.0.1:4400", server.url)], {
    cwd: folder,
    env,
  });
  expect(JSON.parse(stdout).data.publishAgent).toMatchObject({ handle: "by-curl", version: "1.0.0" });
});
