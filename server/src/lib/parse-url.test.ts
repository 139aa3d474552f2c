import { expect, test } from "vitest";
import { parseUrl } from "./parse-url.ts";
import { growsWithLength } from "./processor-time.testsuite.ts";

test.each([
  "https://example.com/a",
  "http:\\\\example.com",
  "http:example.com",
  `http://h/${"a".repeat(2_000)}`,
  "nonsense",
  "",
])("%s is read as URL.parse reads it", (text) => expect(parseUrl(text)?.href).toBe(URL.parse(text)?.href));

test("a base path may be long, a host may not", () => {
  const long = "a".repeat(2_000);
  expect(parseUrl(`/${long}`, "http://h/")?.href).toBe(`http://h/${long}`);
  expect(parseUrl(long, "http://h/")?.href).toBe(`http://h/${long}`);
  for (const text of [`http://${long}/`, `http:\\/${long}`, `//${long}`, `\\\\${long}?`, `http://${long}@h/`])
    expect(parseUrl(text, "http://h/")).toBeNull();
});

const VARIED = Array.from({ length: 8_000 }, (_, at) => String.fromCharCode(0x4e00 + ((at * 7_919) % 20_000))).join("");
test.each([
  ["letters of many kinds", VARIED],
  ["marks to be put in order", "\u0301\u0316".repeat(4_000)],
  ["spaces and slashes", " / \\".repeat(2_000)],
])("a host of %s takes no more than linear time", (_, host) =>
  expect(growsWithLength(8_000, (length) => parseUrl(`http://${host.slice(0, length)}/`))).toBe(true),
);
