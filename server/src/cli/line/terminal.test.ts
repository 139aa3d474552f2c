import { expect, test } from "vitest";
import { cutText, plainJson, plainText, prettyJson } from "./terminal.ts";

/** Commands of a terminal, what turns a line around, and what nobody sees. */
const UNSEEN = [..."\u007f\u009b\u2028\u2029\u061c\u200b\u200e\u200f\u202e\u2060\u2066\u2069\ufeff\u{e0041}\u{e007f}"];
const nameOf = (character: string): string => `U+${character.codePointAt(0)!.toString(16).padStart(4, "0")}`;
/** Persian words and families of emoji are written with these. */
const JOINED = "نمی\u200cخواهم \u{1f468}\u200d\u{1f469}";

test.each(UNSEEN.map((one) => [nameOf(one), one]))(
  "JSON shows %s as an escape, and other texts as `?`",
  (_, character) => {
    const value = { to: `ada${character}?`, [character]: JOINED };
    for (const json of [plainJson(value), prettyJson(value)]) {
      expect(json).not.toContain(character);
      expect(json).toContain(JOINED);
      expect(JSON.parse(json)).toEqual(value);
    }
    expect(plainText(`ada${character}${JOINED}`)).toBe(`ada?${JOINED}`);
  },
);

test("a text of others stays in its line", () => expect(plainText("ada\r\n\tbob\u2028")).toBe("ada???bob?"));

test("a text is not cut inside a character", () => {
  expect(cutText("ab\u{1f600}\u{1f600}", 4)).toBe("ab…");
  expect(cutText("ab\u{1f600}\u{1f600}", 5)).toBe("ab\u{1f600}…");
});
