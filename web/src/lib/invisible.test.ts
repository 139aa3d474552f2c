import { expect, test } from "vitest";
import { hasInvisible, showInvisible, showInvisibleInJson } from "./invisible.ts";

const VISIBLE = "Grüße,\t日本\r\n🙂 ❤\ufe0f 👩🏽\u200d🚀 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3";
const HIDDEN = "\u202e\u200b\u{e0041}\u{e0100}\ufe0f\u200d\u0085\u2028\u3164\r";

test("characters that nobody sees are shown by their numbers, and others as they are", () => {
  expect(showInvisible(VISIBLE)).toBe(VISIBLE);
  expect(hasInvisible(VISIBLE)).toBe(false);
  for (const sign of HIDDEN) expect(hasInvisible(`${VISIBLE}a${sign}b`)).toBe(true);
  expect(showInvisible(HIDDEN)).toBe(
    String.raw`\u{202e}\u{200b}\u{e0041}\u{e0100}\u{fe0f}\u{200d}\u{85}\u{2028}\u{3164}\u{d}`,
  );
});

test("only one that belongs to an emoji stays", () => {
  expect(showInvisible("❤\ufe0f\ufe0f 1\ufe0f a\u200d🙂\u200d")).toBe(
    String.raw`❤${"\ufe0f"}\u{fe0f} 1\u{fe0f} a\u{200d}🙂\u{200d}`,
  );
});

test("in JSON they are shown as JSON writes them, so that the value stays what it is", () => {
  const value = { [`key${HIDDEN}`]: [`${VISIBLE}a${HIDDEN}`] };
  const json = showInvisibleInJson(JSON.stringify(value, null, 2));
  expect(json).toContain(String.raw`key\u202e\u200b\udb40\udc41\udb40\udd00\ufe0f\u200d\u0085\u2028\u3164\r`);
  expect(hasInvisible(json)).toBe(false);
  expect(JSON.parse(json)).toEqual(value);
});

test("a long text takes no more than linear time", () => {
  const texts = ["\u200d".repeat(200_000), "❤\ufe0f".repeat(100_000), "1".repeat(200_000)];
  for (const text of texts) expect(showInvisible(text).length).toBeGreaterThanOrEqual(text.length);
});
