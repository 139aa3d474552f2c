import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readConfig } from "../../config.ts";
import { isLoopbackUrl, serversConfig, serverUrl } from "./server-address.ts";

/** A data folder that this process claims to serve. */
function served(entry: object = { url: "http://127.0.0.1:5555" }): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "autograph-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(path.join(folder, "instance.json"), JSON.stringify({ pid: process.pid, ...entry }));
  return folder;
}

const urlOf = (environment: Record<string, string>, given?: string) =>
  serverUrl(readConfig({ DATA_DIR: "/nowhere", ...environment }, "/nowhere"), given);

test("--url, then PUBLIC_URL, then HOST and PORT", () => {
  const all = { PUBLIC_URL: "https://agents.example.org/a/", PORT: "4500" };
  expect(urlOf(all, "http://localhost:1/")).toBe("http://localhost:1");
  expect(urlOf(all)).toBe("https://agents.example.org/a");
  expect(urlOf({ PORT: "4500" })).toBe("http://127.0.0.1:4500");
  expect(urlOf({ HOST: "::1" })).toBe("http://[::1]:4400");
  expect(urlOf(all, "http://localhost:1/a/?#")).toBe("http://localhost:1/a");
  for (const given of [
    "localhost:4400",
    ...["?a", "#a"].map((end) => `http://localhost:1/${end}`),
    "http://a:b@localhost:1",
  ])
    expect(() => urlOf({}, given)).toThrow("--url must be an http or https URL without query, fragment and user");
});

test("without a chosen port the data folder's server says where it is", () => {
  const DATA_DIR = served();
  expect(urlOf({ DATA_DIR })).toBe("http://127.0.0.1:5555");
  expect(urlOf({ DATA_DIR, PORT: "0" })).toBe("http://127.0.0.1:5555");
  expect(urlOf({ DATA_DIR, PORT: "4500" })).toBe("http://127.0.0.1:4500");
  expect(urlOf({ DATA_DIR, DATABASE_URL: "postgres://127.0.0.1/x" })).toBe("http://127.0.0.1:4400");
});

test("a server behind a proxy is asked where it listens, if that is loopback and no setting names another", () => {
  const url = "https://agents.example.org";
  const DATA_DIR = served({ url, localUrl: "http://127.0.0.1:5555" });
  expect(urlOf({ DATA_DIR })).toBe("http://127.0.0.1:5555");
  expect(urlOf({ DATA_DIR, PUBLIC_URL: url })).toBe("http://127.0.0.1:5555");
  expect(urlOf({ DATA_DIR, PUBLIC_URL: "https://other.example.org" })).toBe("https://other.example.org");
  expect(urlOf({ DATA_DIR }, url)).toBe(url);
  expect(urlOf({ DATA_DIR: served({ url, localUrl: "http://10.0.0.5:5555" }) })).toBe(url);
});

test("the server's settings are its process's, not the command's", () => {
  const config = readConfig({ DATA_DIR: served(), OUTBOUND_ALLOW: "127.0.0.1/32", PORT: "4500" }, "/nowhere");
  const expected =
    process.platform === "linux"
      ? { config: { outboundAllow: [], port: 4400 }, from: "server" }
      : { config: { outboundAllow: ["127.0.0.1/32"], port: 4500 }, from: "own" };
  expect(serversConfig(config)).toMatchObject(expected);
  const own = { ...config, databaseUrl: "postgres://127.0.0.1/x" };
  expect(serversConfig(own)).toEqual({ config: own, from: "own" });
  const none = { ...config, dataFolder: "/nowhere" };
  expect(serversConfig(none)).toEqual({ config: none, from: "no server" });
});

test.each([
  ["http://127.0.0.1:4400", true],
  ["http://localhost/a", true],
  ["http://[::1]:4400", true],
  ["https://agents.example.org", false],
  ["http://127.0.0.1.example.org", false],
  ["http://localhost.example.org", false],
])("%s is loopback: %s", (url, expected) => {
  expect(isLoopbackUrl(url)).toBe(expected);
});
