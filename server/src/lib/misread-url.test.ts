import { domainToUnicode } from "node:url";
import { expect, test } from "vitest";
import { seeded } from "../../../test/faults/random.ts";
import { growsWithLength } from "./processor-time.testsuite.ts";
import { misreadingOf } from "./misread-url.ts";

const DOTS = { part: "path", what: "the segment . or .." };

test.each([
  ["http://h/orders/.. ", DOTS],
  ["http://h/orders/..\u0001", DOTS],
  ["http://h/orders/%2e%2E ", DOTS],
  ["http://h/orders/.%2e\0\u001f ", DOTS],
  ["http://h/orders/.\t./x", DOTS],
  ["http://h/orders/.\r\n.", DOTS],
  ["http://h/a\\..\\b", DOTS],
  ["http://h/./x?y", DOTS],
  ["http://h/..#x", DOTS],
  ["\u0001http://h/a", { part: "URL", what: expect.stringContaining("a space or control character at an end") }],
  ["http://h/a?b=c ", { part: "URL", what: expect.stringContaining("a space or control character at an end") }],
  ["http://h/a\nb", { part: "URL", what: expect.stringContaining("a tab, a line break") }],
  ["http://h\t.example/a", { part: "URL", what: expect.stringContaining("a tab, a line break") }],
  ["http:h/a", { part: "URL", what: expect.stringContaining("slashes") }],
  ["http:/\\h/a", { part: "URL", what: expect.stringContaining("slashes") }],
  ["http:///h/a", { part: "URL", what: expect.stringContaining("slashes") }],
  ["http://h\\@evil.example/", { part: "path", what: expect.stringContaining("backslash") }],
  ["http://h/a\\b", { part: "path", what: expect.stringContaining("backslash") }],
  ["http://e%76il.example/", { part: "host", what: expect.any(String) }],
  ["http://ｅxample.com/", { part: "host", what: expect.any(String) }],
  ["http://ex\u00adample.com/", { part: "host", what: expect.any(String) }],
  ["http://example。com/", { part: "host", what: expect.any(String) }],
])("%j is read otherwise", (text, misreading) => expect(misreadingOf(text)).toEqual(misreading));

test.each([
  "http://h",
  "http://h?",
  "http://h/?a=b",
  "HTTP://H:80/a",
  "https://h:0443/a",
  "http://[::1]:80/a",
  "http://127.1/",
  "http://münchen.example/straße/ä?ö=ü#..",
  "http://MÜNCHEN.example/",
  "http://faß.example./",
  "http://h/a b/c?d e=f'\"<>",
  "http://h/a/ /...//..a/%2e%2e%2e/%zz/^`{|}[]'\"<>",
  "http://h/a?/../b",
  "http://h/%2F..%2F",
  "http://h/a\u0001b/\u{1f600}",
  // For others to refuse.
  "ftp://h/..",
  "nonsense",
  "http://",
])("%j is read as it is written", (text) => expect(misreadingOf(text)).toBeUndefined());

const HOSTILE = [
  ["..", ".", "%2e", "%2E%2e", ".%2e", "/", "\\", "//", "?", "#", "@", ":", ";", "%", "%2f", "%5c", "%00", "[", "]"],
  [" ", "\t", "\n", "\r", "\0", "\u0001", "\u001f", "\u007f", "\u0085", "\u00a0", "\u2028", "\ufeff", "\u00ad"],
  ["a", "7", "ä", "．", "／", "。", "\u{1f600}", "\ud800", "&", "=", "+", "'", '"', "{", "|", "^"],
].flat();
/** Where a value may stand in a URL. */
const PLACES: ((value: string) => string)[] = [
  (value) => value,
  (value) => `${value}://h.example/a`,
  (value) => `http:${value}/a`,
  (value) => `http://${value}/a/b`,
  (value) => `http://${value}.h.example/a/b`,
  (value) => `http://${value}@h.example/a/b`,
  (value) => `http://h.example${value}`,
  (value) => `http://h.example:8${value}/a`,
  (value) => `http://h.example/orders/${value}`,
  (value) => `http://h.example/orders/${value}/items?x=y`,
  (value) => `http://h.example/a?x=${value}`,
  (value) => `http://h.example/a?x=${value}&y=z#f`,
  (value) => `http://h.example/a#${value}`,
];

/** Encoded for the wire it means the same; `+` stays. */
const bytesOf = (text: string): string =>
  Buffer.from(text)
    .toString("latin1")
    .replaceAll(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** The parts that RFC 3986 (appendix B) reads in the text. */
function written(text: string): { host: string; segments: string[]; query: string } {
  const [, host = "", path = "", query = ""] = /^https?:\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?/i.exec(text)!;
  return { host: host.toLowerCase(), segments: (path || "/").split("/").map(bytesOf), query: bytesOf(query) };
}

test("20,000 values wherever they stand: what is accepted is sent as it is written", () => {
  const random = seeded("values in URLs");
  let accepted = 0;
  for (let at = 0; at < 20_000; at++) {
    const value = Array.from({ length: random.between(1, 5) }, () => random.pick(HOSTILE)).join("");
    const text = random.pick(PLACES)(value);
    const url = URL.parse(text);
    // The call refuses a user.
    if (!url || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") continue;
    if (misreadingOf(text)) continue;
    accepted++;
    const { host, segments, query } = written(text);
    const sent = { segments: url.pathname.split("/").map(bytesOf), query: bytesOf(url.search.slice(1)) };
    expect(sent, JSON.stringify(text)).toEqual({ segments, query });
    const name = host.replace(/^[^@]*@/, "").replace(/:\d*$/, "");
    // An address by a number is the guard's.
    if (/[^\d.x]/.test(name))
      expect([url.hostname, domainToUnicode(url.hostname)], JSON.stringify(text)).toContain(name);
  }
  // Most are refused: they are meant to be.
  expect(accepted).toBeGreaterThan(2_000);
});

test.each(["/", " ", "\\", "..", "%2e/", "ä", "'", "/.", "\u0001", "?", "#", "@", ":1"])("a long run of %j", (unit) => {
  const isLinear = growsWithLength(1_000_000, (length) => misreadingOf(`http://h/${unit.repeat(length)}x`));
  expect(isLinear).toBe(true);
});
