import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { clientAddresses, hostProblems, ownOrigins, ownPages } from "./addresses.ts";

const from = (remoteAddress: string, forwarded?: string): IncomingMessage =>
  ({ socket: { remoteAddress }, headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded } }) as never;

test.for([
  ["without trusted proxies the header is not looked at", [], "10.0.0.1", "203.0.113.9", "10.0.0.1"],
  ["a stranger's header is not looked at", ["10.0.0.0/8"], "203.0.113.1", "203.0.113.9", "203.0.113.1"],
  ["a trusted proxy's is", ["10.0.0.0/8"], "10.0.0.1", "203.0.113.9", "203.0.113.9"],
  [
    "the nearest that is not trusted counts, whatever stands before it",
    ["10.0.0.0/8"],
    "10.0.0.1",
    "1.2.3.4, 203.0.113.9, 10.0.0.2",
    "203.0.113.9",
  ],
  [
    "an address in IPv6's clothes is the IPv4 one",
    ["10.0.0.1"],
    "::ffff:10.0.0.1",
    "::ffff:203.0.113.9",
    "203.0.113.9",
  ],
  ["what is no address ends the way", ["10.0.0.0/8"], "10.0.0.1", "203.0.113.9, unknown", "10.0.0.1"],
  ["IPv6 ranges", ["2001:db8::/32"], "2001:db8::1", "2001:db9::7", "2001:db9::7"],
  ["all are trusted: the farthest", ["10.0.0.0/8"], "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
  ["no header", ["10.0.0.0/8"], "10.0.0.1", undefined, "10.0.0.1"],
] as [string, string[], string, string | undefined, string][])("%s", ([, trusted, remote, forwarded, expected]) => {
  expect(clientAddresses(trusted)(from(remote, forwarded))).toBe(expected);
});

test("own hosts are loopback's names and the public URL's, with any port, and what is remembered is bounded", () => {
  const problem = hostProblems("https://agents.example.org/x", "another");
  const other = { status: 421, message: "another" };
  for (let index = 0; index < 1_000; index++) expect(problem(`host${index}.example.org`)).toEqual(other);
  for (const host of ["localhost", "LOCALHOST:80", "127.0.0.1:4400", "[::1]", "[::1]:1", "agents.example.org:443"]) {
    expect([problem(host), problem(host)], host).toEqual([undefined, undefined]);
  }
  for (const host of [undefined, "", "agents.example.org.evil", "127.0.0.2", "::1", "localhost:", "localhost:x"]) {
    expect([problem(host), problem(host)], host).toEqual([other, other]);
  }
  expect([problem("localhost:65535"), problem("[::1]:65536")?.status]).toEqual([undefined, 400]);
  expect([problem("localhost:123456")?.status, problem("other:123456")?.status]).toEqual([400, 421]);
  expect(hostProblems(undefined, "another")("agents.example.org")).toEqual(other);
});

const OWN = ownOrigins("https://agents.example.org/x", ["https://app.example.org"]);
test.for([
  [undefined, "localhost:4400", true],
  ["http://localhost:4400", "localhost:4400", true],
  ["http://LOCALHOST:4400", "localhost:4400", true],
  ["http://localhost", "localhost:80", true],
  ["https://127.0.0.1", "127.0.0.1:443", true],
  ["http://[::1]:4400", "[::1]:4400", true],
  ["https://agents.example.org", "127.0.0.1:4400", true],
  ["https://app.example.org", "localhost:4400", true],
  ["http://localhost:3000", "localhost:4400", false],
  ["http://localhost", "localhost:4400", false],
  ["http://127.0.0.1:4400", "localhost:4400", false],
  ["http://agents.example.org", "127.0.0.1:4400", false],
  ["http://app.example.org", "localhost:4400", false],
  ["https://evil.example", "localhost:4400", false],
  ["https://app.example.org.evil.example", "localhost:4400", false],
  ["https://app.example.org, https://evil.example", "localhost:4400", false],
  ["http://localhost:4400/a", "localhost:4400", false],
  ["file://localhost", "localhost", false],
  ["null", "localhost:4400", false],
  ["", "localhost:4400", false],
  ["http://localhost:4400", undefined, false],
] as const)("a page of %s on %s is our own or listed: %s", ([origin, host, expected]) => {
  expect(OWN({ headers: { origin, host } } as never)).toBe(expected);
});

const PAGES = ownPages("https://agents.example.org/x");
test.for([
  ["https://agents.example.org", "agents.example.org", "https:"],
  ["https://agents.example.org", "127.0.0.1:4400", "https:"],
  ["http://localhost:4400", "localhost:4400", "http:"],
  ["https://localhost", "localhost:443", "https:"],
  ["http://[::1]:4400", "[::1]:4400", "http:"],
  ["http://agents.example.org", "agents.example.org", undefined],
  ["https://agents.example.org:8443", "agents.example.org:8443", undefined],
  ["https://app.example.org", "localhost:4400", undefined],
  ["http://localhost:3000", "localhost:4400", undefined],
  ["http://127.0.0.1:4400", "localhost:4400", undefined],
  ["https://evil.example", "evil.example", undefined],
  ["null", "localhost:4400", undefined],
  ["", "localhost:4400", undefined],
  [undefined, "localhost:4400", undefined],
] as const)("a page of %s on %s may sign in: %s", ([origin, host, expected]) => {
  expect(PAGES({ headers: { origin, host } } as never)).toBe(expected);
});

test("without a public URL only pages of loopback names may sign in", () => {
  const pages = ownPages(undefined);
  const from = (origin: string) => pages({ headers: { origin, host: new URL(origin).host } } as never);
  expect([from("http://127.0.0.1:4400"), from("http://agents.example.org")]).toEqual(["http:", undefined]);
});
