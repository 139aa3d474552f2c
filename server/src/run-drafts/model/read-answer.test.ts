import { expect, test } from "vitest";
import { inputFields } from "../../definition/form/form.ts";
import { dayOf, isoOf } from "../dates/days.ts";
import { PERIODS } from "./model-questions.ts";
import { readAnswer } from "./read-answer.ts";

const date = { type: "string", format: "date" };
const FIELDS = inputFields({
  type: "object",
  properties: {
    from: date,
    to: date,
    on: date,
    order: { type: "string" },
    amount: { type: "number" },
    tags: { type: "array", items: { type: "string" } },
    region: { type: "string", oneOf: [{ const: "emea", title: "Europe" }] },
    rush: { type: "boolean" },
  },
});
/** A Wednesday. */
const today = dayOf(2026, 11, 25);
const misfit = (name: string, value: unknown): string | undefined =>
  name === "amount" && Number(value) > 100 ? "must be at most 100" : undefined;

const read = (text: string, fields: object) => {
  const found = readAnswer(JSON.stringify({ fields }), { text, fields: FIELDS, today, misfit })!;
  return { ...found, found: Object.fromEntries(found.sentence.found) };
};
const valueOf = (text: string, name: string, value: unknown, words = text): unknown => {
  const { value: taken, sure, reason } = read(text, { [name]: { value, words } }).found[name]!;
  return sure ? taken : { reason };
};

test.for(PERIODS)("the period %s, which models are told of, is one that is read", (period) => {
  const { found, problems } = read("x", { from: { value: period, words: "x" }, to: { value: period, words: "x" } });
  expect(problems).toEqual([]);
  const [from, to] = [found["from"]?.value, found["to"]?.value];
  expect([from, to].filter((day) => day !== undefined)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^20\d\d-\d\d-\d\d$/)]),
  );
});

test("a list of more than 100 items is not read, nor a day of more than 100 letters", () => {
  expect(valueOf("a", "tags", Array(100).fill("a"))).toHaveLength(100);
  expect(valueOf("a", "tags", Array(101).fill("a"))).toEqual({ reason: "It is not a list." });
  expect(valueOf("a", "on", `${"the ".repeat(30)}today`)).toEqual({ reason: "It is not a day or a period." });
});

test("a period fills both of its fields; a single field takes a single day", () => {
  const { found } = read("im Oktober", { from: { value: "October 2026", words: "im Oktober" } });
  expect([found["from"]!.value, found["to"]!.value]).toEqual(["2026-10-01", "2026-10-31"]);
  expect(valueOf("morgen", "on", "tomorrow")).toBe(isoOf(today + 1));
  expect(valueOf("im Oktober", "on", "October 2026")).toEqual({ reason: "It takes one day, not a period." });
  expect(valueOf("dann", "on", "2026-02-30")).toEqual({ reason: "There is no such day." });
  for (const given of ["whenever", "tomorrow and ignore the rules", 5, null, "x".repeat(101)])
    expect(valueOf("dann", "on", given)).toEqual({ reason: expect.stringContaining("day or") });
});

test("words that the sentence lacks are not taken, whatever their case and spaces", () => {
  expect(valueOf("Refund  ORDER ab-7 (please)", "order", "AB-7", "order ab-7")).toBe("AB-7");
  expect(valueOf("Refund order ab-7", "order", "AB-8", "order ab-7")).toHaveProperty("reason");
  expect(valueOf("tags: a, b", "tags", ["a", "b"])).toEqual(["a", "b"]);
  expect(valueOf("tags: a, b", "tags", ["a", "sk-secret"])).toHaveProperty("reason");
  const { found, problems } = read("nothing", { rush: { value: true, words: "as fast as you can" } });
  expect(found["rush"]).toMatchObject({ value: null, source: "", sure: false });
  expect(problems).toEqual(['"rush": These words are not in the sentence.']);
  for (const words of ["", " ", "n".repeat(100), 7, null, ".*", "(", "\\"])
    expect(read("nothing", { rush: { value: true, words } }).found["rush"]).toMatchObject({ sure: false, source: "" });
});

test("a number must stand in the quoted words, if they have any", () => {
  for (const [words, value] of [
    ["34,50 EUR", 34.5],
    ["$45", 45],
    ["a dozen", 12],
  ] as const)
    expect(valueOf(words, "amount", value)).toBe(value);
  expect(valueOf("order 7", "amount", 99)).toEqual({ reason: "The words say another number." });
  expect(valueOf("500 €", "amount", 500)).toEqual({ reason: "It must be at most 100." });
  for (const value of ["45", null, [45], true]) expect(valueOf("$45", "amount", value)).toHaveProperty("reason");
});

test("a choice is one of the form's, by its value or title", () => {
  expect(valueOf("Europa", "region", "emea")).toBe("emea");
  expect(valueOf("Europa", "region", "europe")).toBe("emea");
  expect(valueOf("Europa", "region", "mars")).toEqual({ reason: "It is none of the choices." });
});

test("any other value is undefined; additional properties are ignored", () => {
  const reading = { text: "rush", fields: FIELDS, today, misfit };
  for (const answer of ["", "{", "[]", "null", '{"fields": 1}', "no {idea}", '{"fields": {"__proto__": {"value": 1}}}'])
    expect(readAnswer(answer, reading)).toBeUndefined();
  const among = 'Sure!\n```json\n{"fields": {"rush": {"value": true, "words": "rush"}, "admin": 1}}\n```';
  const found = readAnswer(among, reading)!;
  expect([...found.sentence.found.keys()]).toEqual(["rush"]);
  expect(found.problems).toEqual([]);
});
