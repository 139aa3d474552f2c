import { expect, test } from "vitest";
import type { JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { atOnce } from "../../fairness/slices.ts";
import { leastMs } from "../../lib/processor-time.testsuite.ts";
import { Credentials, unhidden } from "./http-response.ts";

const most = LIMITS.responseBodyBytes;

function bodyOf(body: string | Uint8Array, type = "", authentication?: JsonObject): string | null {
  const credentials = new Credentials(authentication);
  const response = {
    status: 200,
    statusText: "OK",
    url: "http://example.org/",
    headers: { "content-type": type },
    setCookies: [],
    body: typeof body === "string" ? Buffer.from(body) : body,
  };
  const shown = atOnce(credentials.shown(response));
  if (credentials.isEmpty) expect(unhidden(response)).toEqual(shown);
  return shown.body;
}

test("a short text is kept as it is, a longer one is cut at a character", () => {
  expect(bodyOf("")).toBe("");
  expect(bodyOf("ä€😀")).toBe("ä€😀");
  expect(bodyOf("x".repeat(most))).toBe("x".repeat(most));
  expect(bodyOf("x".repeat(most + 1))).toBe(`${"x".repeat(most)}…`);
  for (const before of [0, 1, 2, 3]) {
    const cut = bodyOf("x".repeat(before) + "😀".repeat(most))!;
    expect(cut).toBe(`${"x".repeat(before)}${"😀".repeat(Math.floor((most - before) / 4))}…`);
  }
});

test("what is not text is null, unless the endpoint calls it text", () => {
  expect(bodyOf(Uint8Array.of(0x89, 0x50, 0x4e, 0x47))).toBeNull();
  expect(bodyOf("a\0b")).toBeNull();
  expect(bodyOf(Uint8Array.of(0x63, 0xe9), "text/plain; charset=latin1")).toBe("cé");
  expect(bodyOf(Uint8Array.of(0x63, 0xe9), "application/octet-stream")).toBeNull();
});

test.each([
  ["a token", { bearer: { token: "s3cr/t" } }, "s3cr/t"],
  ["a token in JSON", { bearer: { token: 's"3' } }, JSON.stringify({ was: 's"3' })],
  ["a token in PHP's JSON", { bearer: { token: "a/b" } }, String.raw`a\/b`],
  ["a token in a URL", { bearer: { token: "a b/c" } }, "?t=a%20b%2Fc"],
  ["a token in HTML", { bearer: { token: "a&b<c" } }, "<p>a&amp;b&lt;c</p>"],
  ["a token in JSON of ASCII alone", { bearer: { token: "pä😀s" } }, String.raw`p\u00e4\uD83D\uDE00s`],
  ["a token in Go's JSON", { bearer: { token: "a&b<c" } }, String.raw`a\u0026b\u003cc`],
  ["a token in JSON within JSON", { bearer: { token: 's"3/x' } }, JSON.stringify(JSON.stringify({ was: 's"3/x' }))],
  ["a token with backslashes in JSON", { bearer: { token: String.raw`a\\b\u0041` } }, String.raw`a\\\\b\\u0041`],
  ["a token in a form", { bearer: { token: "a b/ä+~" } }, new URLSearchParams({ t: "a b/ä+~" }).toString()],
  ["a token in a URL with small letters", { bearer: { token: "a/b=" } }, "?t=a%2fb%3d"],
  ["a token in a URL, every sign of it", { bearer: { token: "a-b!" } }, "?t=a%2Db%21"],
  ["a token in HTML by numbers", { bearer: { token: `a'b"c/d` } }, "<p>a&#39;b&#x22;c&#047;d</p>"],
  ["a token that looks like a pattern", { bearer: { token: "a.*(b" } }, "a.*(b"],
  ["a password", { basic: { username: "robot", password: "pa55" } }, "pa55"],
  ["a key as the user name", { basic: { username: "sk_live", password: "" } }, "sk_live"],
  ["both together", { basic: { username: "robot", password: "pa55" } }, `Basic ${btoa("robot:pa55")}`],
])("%s is not shown", (_, authentication, body) => {
  const shown = bodyOf(`before ${body} after`, "text/plain", authentication)!;
  expect(shown).toContain("[redacted]");
  expect(shown).not.toContain(body);
  expect(shown).toMatch(/^before .* after$/);
  expect(bodyOf(`before ${body} after`, "text/plain")).toBe(`before ${body} after`);
});

test("of a secret that is an object each text is hidden, but no word of the language", () => {
  const secret = JSON.stringify({ grant: "client_credentials", client: { id: "shop", secret: "pa55" } });
  const credentials = new Credentials(undefined, new Map([["client", secret]]));
  expect(atOnce(credentials.hide("shop, pa55, client_credentials"))).toBe("[redacted], [redacted], client_credentials");
});

test("of two that begin alike the longer one is hidden whole", () => {
  const authentication = { basic: { username: "robot", password: "robot-5" } };
  expect(bodyOf("robot-5, robot", "text/plain", authentication)).toBe("[redacted], [redacted]");
});

test("no part of a credential is left where the body is cut", () => {
  for (const token of ["0123456789".repeat(20), "秘密の鍵😀".repeat(40)])
    for (const place of [most - 300, most - 100, most - 20, most - 1, most, most + 1]) {
      for (const filling of ["x", `${token} `, "ä"]) {
        const before = filling.repeat(most).slice(0, Math.floor(place / Buffer.byteLength(filling)) * filling.length);
        const shown = bodyOf(`${before}${token}${"y".repeat(500)}`, "", { bearer: { token } })!;
        expect(shown).not.toContain(token.slice(0, 4));
        expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(most + 3);
      }
    }
});

test("a token of 300,000 characters is hidden in little time, and so is its beginning", () => {
  const token = '<"/'.repeat(100_000);
  const texts = [
    token,
    token.slice(0, 3_000),
    `${token.slice(0, 3_000)}!`,
    JSON.stringify(token),
    encodeURIComponent(token),
  ];
  let shown: string[] = [];
  const hide = (): unknown =>
    (shown = texts.map((text) => bodyOf(`before ${text}`, "text/plain", { bearer: { token } })!));
  expect(leastMs(500, hide)).toBeLessThan(500);
  for (const one of shown) expect(one).toMatch(/^before "?\[redacted\](?:!|…|"|)$/);
});

test("a text that repeats nearly the whole of a token costs little", () => {
  const token = `${"a".repeat(10_000)}b`;
  const texts = [
    "a".repeat(20_000),
    "a%61&#97;".repeat(3_000),
    `${"a".repeat(31)}c`.repeat(200),
    `${"%61".repeat(31)}c`.repeat(60),
    "\\".repeat(20_000),
  ];
  const hide = (): void => {
    for (const text of texts) bodyOf(text, "text/plain", { basic: { username: token, password: `a${token}` } });
  };
  expect(leastMs(500, hide)).toBeLessThan(500);
});

test("a credential of one character hides what it must and grows nothing", () => {
  const shown = bodyOf("a".repeat(1_000_000), "", { bearer: { token: "a" } })!;
  expect(shown).toMatch(/^(\[redacted\])+/);
  expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(most + 3);
});
