/** The key that `setup` keeps beside the server: who uses it, and where it never goes. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cli, cliJson, settingsOf, type Ended } from "./command-line.ts";
import { startTestServer, type TestServer } from "./client.ts";

let server: TestServer;
let file: string;
let key: string;
let made: Ended;
const beside = (): Record<string, string> => settingsOf(server);

beforeAll(async () => {
  server = await startTestServer({ fresh: true });
  file = path.join(server.dataFolder, "api.key");
  writeFileSync(file, "ag_live_old\n", { mode: 0o644 });
  made = await cli(["setup", "--email", "ada@example.org"], { env: beside() });
  key = made.stdout.trim();
});
afterAll(() => server[Symbol.asyncDispose]());

test("setup keeps it for its owner alone, instead of an older one, and prints it alone on stdout", () => {
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ag_live_\w+\n$/) });
  expect(made.stderr).toMatch(/^owner +ada@example\.org\npassword +.{20}: keep it/m);
  expect(made.stderr).toContain(`kept in ${file}`);
  expect(readFileSync(file, "utf8")).toBe(`${key}\n`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a command beside the server needs no key", async () => {
  const names = (await cliJson<any[]>(["keys", "list"], { env: beside() })).map(({ name }) => name);
  expect(names).toEqual(["first"]);
  expect((await cli(["keys", "list", "--url", server.url], { env: beside() })).code).toBe(0);
});

test("AUTOGRAPH_API_KEY and --api-key win", async () => {
  for (const [args, env] of [
    [[], { AUTOGRAPH_API_KEY: "ag_live_wrong" }],
    [["--api-key", "ag_live_wrong"], {}],
  ] as const) {
    const { code, stderr } = await cli(["keys", "list", ...args], { env: { ...beside(), ...env } });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^autograph: this API key is [^(]+\n$/)]);
  }
});

test("it goes to no other server: not by --url, PUBLIC_URL or PORT", async () => {
  const heard: unknown[] = [];
  const stranger = createServer((request, response) => {
    heard.push(request.headers.authorization ?? request.url);
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => stranger.once("listening", resolve));
  const { port } = stranger.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const bySettings: [string[], Record<string, string>][] = [
    [[], { PUBLIC_URL: url }],
    [[], { PORT: String(port) }],
  ];
  // With a DATABASE_URL the settings are all that says where the server is.
  for (const [args, env] of [[["--url", url], {}] as const, ...(server.isEmbedded ? bySettings : [])]) {
    const { code, stdout, stderr } = await cli(["keys", "list", ...args], { env: { ...beside(), ...env } });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^autograph: no API key: .+ in the browser, make one there: Settings, API keys\n$/);
  }
  stranger.close();
  expect(heard).toEqual([]);
});

test("a given key or password goes nowhere that only the current folder says", async () => {
  const heard: unknown[] = [];
  const stranger = createServer((request, response) => {
    heard.push(request.headers.authorization ?? request.url);
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => stranger.once("listening", resolve));
  const { port } = stranger.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const folder = mkdtempSync(path.join(tmpdir(), "somebodys-"));
  // Root's own server could keep its data there, too.
  chmodSync(folder, 0o755);
  const say = (file: string): void => writeFileSync(path.join(folder, ".env"), file);
  const env = { AUTOGRAPH_API_KEY: "ag_live_mine", PORT: "" };
  for (const file of [`PUBLIC_URL=${url}`, `PORT=${port}`, `HOST=127.0.0.1\nPORT=${port}`]) {
    say(file);
    for (const [args, stdin] of [
      [["keys", "list"], ""],
      [["sessions", "list", "--email", "ada@example.org"], "a password"],
    ] as const) {
      const { code, stdout, stderr } = await cli([...args], { env, cwd: folder, stdin });
      expect({ code, stdout, stderr }, file).toEqual({
        code: 1,
        stdout: "",
        stderr: `autograph: only the folder ${folder} names the server ${url}, so no credential is sent there: give --url ${url} if it is yours\n`,
      });
    }
  }
  say("");
  mkdirSync(path.join(folder, "data"));
  // A server's entry such as a folder from elsewhere may have: of a live process, under a host name that does not exist.
  const entry = { pid: process.pid, url: "http://agents.invalid:4400" };
  writeFileSync(path.join(folder, "data", "instance.json"), JSON.stringify(entry));
  expect((await cli(["keys", "list"], { env, cwd: folder })).stderr).toContain(
    `names the server ${entry.url}, so no credential`,
  );
  expect(heard).toEqual([]);
  // A user who names the server is believed.
  say(`PUBLIC_URL=${url}`);
  await cli(["keys", "list", "--url", url], { env, cwd: folder });
  await cli(["keys", "list"], { env: { ...env, PUBLIC_URL: url }, cwd: folder });
  expect(heard).toEqual(["Bearer ag_live_mine", "Bearer ag_live_mine"]);
  stranger.close();
  rmSync(folder, { recursive: true });
});

test("behind a proxy, too, the commands beside the server ask it where it listens", async () => {
  const url = "https://agents.example.org/autograph";
  await using proxied = await startTestServer({ env: { PUBLIC_URL: url } });
  // With a DATABASE_URL no data folder says where that is.
  if (!proxied.isEmbedded) return;
  // As `setup` keeps it, without another password's hash and project of examples.
  writeFileSync(path.join(proxied.dataFolder, "api.key"), `${proxied.world.apiKey}\n`, { mode: 0o600 });
  for (const env of [{}, { PUBLIC_URL: url }]) {
    const { code, stderr } = await cli(["keys", "list"], { env: { ...settingsOf(proxied), ...env } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  }
});

test("one that is refused is named by its file, and `keys revoke` removes it", async () => {
  const { id } = (await cliJson<any[]>(["keys", "list"], { env: beside() }))[0];
  writeFileSync(file, "ag_live_gone\n");
  const refused = await cli(["keys", "list"], { env: beside() });
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`(the key kept in ${file})`)]);
  writeFileSync(file, `${key}\n`);
  const revoked = await cli(["keys", "revoke", id], { env: beside() });
  expect([revoked.code, revoked.stderr]).toEqual([0, expect.stringContaining(`${file} is removed`)]);
  expect(existsSync(file)).toBe(false);
  expect((await cli(["keys", "list"], { env: beside() })).stderr).toMatch(/^autograph: no API key: /);
  writeFileSync(file, "\n");
  expect((await cli(["keys", "list"], { env: beside() })).stderr).toMatch(/^autograph: no API key: /);
});

test("with no server on the data folder the line says so, and no other server is asked", async () => {
  const folder = path.join(server.dataFolder, "another");
  const { code, stderr } = await cli(["keys", "list"], { env: { DATA_DIR: folder } });
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(`no server runs on the data folder ${folder}: start one`),
  ]);
});
