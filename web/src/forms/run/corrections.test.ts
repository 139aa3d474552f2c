import { expect, test } from "vitest";
import type { Json, JsonObject } from "../../lib/json.ts";
import { corrected, inputWith, NO_CORRECTIONS, notesOf, unlooked, type Draft } from "./corrections.ts";

const field = (name: string, type: string, given: Json = null) =>
  ({
    name,
    type,
    title: name,
    description: null,
    required: name === "reason",
    choices: null,
    default: given,
    maxLength: null,
  }) as const;
const AGENT = {
  id: "agent_1",
  inputFields: [field("reason", "text"), field("amount", "number"), field("tip", "number", 1)],
};
const OTHER = { ...AGENT, id: "agent_2" };

const read = (input: JsonObject, missing: string[] = [], agent = AGENT, unread: string[] = []): Draft =>
  ({
    agent,
    input,
    missing,
    unread,
    fields: Object.entries(input).map(([name, value]) => ({
      name,
      source: `${name} ${String(value)}`,
      sure: true,
      reason: null,
    })),
  }) as unknown as Draft;

const tags = (draft: Draft, corrections = NO_CORRECTIONS): Record<string, string> =>
  Object.fromEntries([...notesOf(draft, corrections)].map(([name, { text }]) => [name, text]));

test("a value says where it came from as long as it is the one that was read", () => {
  const draft = read({ amount: 90 }, ["reason"]);
  expect(tags(draft)).toEqual({ reason: "needs a value", amount: "from “amount 90”", tip: "by default" });
  const all = { reason: "Train", amount: 900, tip: 2 };
  const corrections = corrected(draft, NO_CORRECTIONS, all);
  expect(inputWith(draft, corrections)).toEqual(all);
  expect(Object.values(tags(draft, corrections))).toEqual(["changed by you", "changed by you", "changed by you"]);
  const back = corrected(draft, corrections, { amount: 90, tip: 1 });
  expect(tags(draft, back)).toEqual(tags(draft));
});

test("what was changed or emptied by hand stays through three readings, and until another agent is read", () => {
  const first = read({ reason: "rush", amount: 90 });
  let corrections = corrected(first, NO_CORRECTIONS, { reason: "rush", amount: 900, tip: 1 });
  corrections = corrected(first, corrections, { reason: "rush", amount: 900 });
  const second = read({ reason: "hurry", amount: 90 });
  expect(inputWith(second, corrections)).toEqual({ reason: "hurry", amount: 900 });
  corrections = corrected(second, corrections, { reason: "calm", amount: 900 });
  const third = read({ reason: "rest", amount: 900, tip: 5 });
  expect(inputWith(third, corrections)).toEqual({ reason: "calm", amount: 900 });
  expect(tags(third, corrections)).toEqual({
    reason: "changed by you",
    amount: "from “amount 900”",
    tip: "changed by you",
  });
  const other = read({ amount: 7 }, [], OTHER);
  expect(inputWith(other, corrections)).toEqual({ amount: 7, tip: 1 });
  expect(tags(other, corrections)).toEqual({ amount: "from “amount 7”", tip: "by default" });
});

test("with a part that was not understood a default is looked at, until it is changed", () => {
  const draft = read({ amount: 90 }, ["reason"], AGENT, ["sing a song"]);
  expect(unlooked(draft, NO_CORRECTIONS)).toEqual(["tip"]);
  expect(tags(draft)).toMatchObject({ tip: "by default: please check" });
  expect(unlooked(draft, corrected(draft, NO_CORRECTIONS, { amount: 90, tip: 2 }))).toEqual([]);
  expect(unlooked(draft, corrected(draft, NO_CORRECTIONS, { amount: 90 }))).toEqual([]);
  expect(unlooked(read({ tip: 3 }, [], AGENT, ["sing"]), NO_CORRECTIONS)).toEqual([]);
  expect(unlooked(read({}, [], AGENT), NO_CORRECTIONS)).toEqual([]);
});
