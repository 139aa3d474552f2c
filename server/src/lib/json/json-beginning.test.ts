import { expect, test } from "vitest";
import { membersAtStart } from "./json-beginning.ts";

const OBJECT = { who: 'Ada "the first", 1', amount: -1.5e3, tags: [{ a: "}" }, "]"], note: "\\ \u00e9\n", last: null };

test("the members of a whole object are all read", () => {
  expect(Object.fromEntries(membersAtStart(JSON.stringify(OBJECT)))).toEqual(OBJECT);
  expect([...membersAtStart('{"__proto__": 1}')]).toEqual([["__proto__", 1]]);
  expect(membersAtStart("{}").size + membersAtStart("[1]").size + membersAtStart("").size).toBe(0);
});

test("a number that no double holds keeps its digits", () => {
  expect(JSON.stringify(membersAtStart('{"order": 820982911946154508, "n').get("order"))).toBe("820982911946154508");
});

test("wherever a text is cut, what was whole is read, and the text that was cut is as long as it is", () => {
  const text = JSON.stringify(OBJECT);
  for (let length = 1; length < text.length; length++) {
    const members = [...membersAtStart(text.slice(0, length))];
    for (const [at, [name, value]] of members.entries()) {
      const whole = OBJECT[name as keyof typeof OBJECT];
      if (at < members.length - 1 || typeof whole !== "string") expect(value, `${length}: ${name}`).toEqual(whole);
      else expect(whole.startsWith(value as string), `${length}: ${name}`).toBe(true);
    }
  }
  expect([...membersAtStart('{"a": "\\u00e')]).toEqual([["a", ""]]);
});
