import { expect, test } from "vitest";
import { challengeIn, digestOf } from "./digest.ts";

const HOST = "https://example.org";
const NONCE = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v";
const CNONCE = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
const header = (algorithm: string, more = ""): string =>
  `Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=${algorithm}, nonce="${NONCE}", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"${more}`;
const login = { username: "Mufasa", password: "Circle of Life" };
const asked = { method: "GET", url: "http://www.example.org/dir/index.html" };
const answerTo = (challenge: string, who = login): string =>
  digestOf(challengeIn(challenge, HOST)!, who, asked, CNONCE);

test.each([
  ["MD5", "8ca523f5e9506fed4657c9700eebdbec"],
  ["SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"],
])("the example of RFC 7616 with %s", (algorithm, response) => {
  expect(answerTo(header(algorithm))).toBe(
    `Digest username="Mufasa", realm="http-auth@example.org", nonce="${NONCE}", uri="/dir/index.html", algorithm=${algorithm}, response="${response}", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS", qop=auth, nc=00000001, cnonce="${CNONCE}"`,
  );
});

test("of several challenges the strongest is answered, whatever stands around it", () => {
  const both = `Basic realm="a, Digest nonce=\\"x\\"", ${header("MD5")}, Negotiate abc==, ${header("SHA-256")}`;
  expect(answerTo(both)).toContain('algorithm=SHA-256, response="753927fa');
  expect(answerTo(header("-none-") + ", " + header("md5-SESS"))).toContain("algorithm=md5-SESS");
});

test("a server of RFC 2069 asks for no qop and no algorithm", () => {
  const answer = digestOf(
    challengeIn('Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093"', HOST)!,
    { username: "Mufasa", password: "CircleOfLife" },
    asked,
  );
  expect(answer).toMatch(/response="1949323746fe6a43ef61f9606e7febea"$/);
});

test("names that no header holds as they are, and those that the server wants hashed", () => {
  expect(answerTo(header("MD5"), { ...login, username: 'a"b\\c' })).toContain(String.raw`username="a\"b\\c"`);
  expect(answerTo(header("MD5"), { ...login, username: "Jäsøn" })).toContain("username*=UTF-8''J%C3%A4s%C3%B8n,");
  const hashed = digestOf(
    challengeIn('Digest realm="api@example.org", qop=auth, algorithm=SHA-512-256, nonce="n", userhash=true', HOST)!,
    { username: "Jäsøn Doe", password: "Secret, or not?" },
    asked,
  );
  // RFC 7616 with its erratum 4897: the example's own values are of a truncated SHA-512.
  expect(hashed).toContain('username="793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b"');
});

test("no challenge is none; one that is not supported says so", () => {
  expect(challengeIn(undefined, HOST)).toBeUndefined();
  expect(challengeIn('Basic realm="a"', HOST)).toBeUndefined();
  for (const unknown of [header("SHA-1"), 'Digest realm="a", nonce="b", qop="auth-int"'])
    expect(() => challengeIn(unknown, HOST)).toThrow(/^https:\/\/example\.org asks for a digest that is not supported/);
});
