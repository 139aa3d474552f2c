import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { Json } from "../lib/json/json.ts";
import { canonicalJson } from "./canonical.ts";
import { BEFORE_THE_FIRST, createVerifier, lineOf } from "./chain.ts";
import type { ChainedEvent, WrittenEvent } from "./event.ts";

test.each<[Json, string]>([
  [{ b: 1, a: [true, null, "x"], "": {} }, '{"":{},"a":[true,null,"x"],"b":1}'],
  [{ "\u20ac": 1, "\r": 2, "1": 3, "\ud83d\ude02": 4, ö: 5 }, '{"\\r":2,"1":3,"ö":5,"€":1,"😂":4}'],
  [[1e21, 0.1, -0, 'q"\\\b\u001f/'], '[1e+21,0.1,0,"q\\"\\\\\\b\\u001f/"]'],
])("canonical JSON of %j", (value, text) => {
  expect(canonicalJson(value)).toBe(text);
});

const hashOf = (link: Omit<ChainedEvent, "hash">): string =>
  createHash("sha256").update(canonicalJson(link)).digest("hex");

function chainOf(count: number, organizationId = "org_a", first = 1, before = BEFORE_THE_FIRST): ChainedEvent[] {
  let previous = before;
  return Array.from({ length: count }, (_, index) => {
    const event = { organizationId, action: "secret_set", detail: { n: index } } as unknown as WrittenEvent;
    const link = { event, number: first + index, previous };
    previous = hashOf(link);
    return { ...link, hash: previous };
  });
}

const chain = chainOf(6);
const lines = chain.map(lineOf);

/** The first line that is wrong, and why. */
function faultOf(texts: readonly string[]): [number, string] | undefined {
  const verifier = createVerifier();
  for (const [index, text] of texts.entries()) {
    const problem = verifier.take(text);
    if (problem !== undefined) return [index + 1, problem];
  }
  return undefined;
}

test("a whole chain is right, and so is a part of it", () => {
  const verifier = createVerifier();
  expect(lines.map((line) => verifier.take(line))).toEqual(lines.map(() => undefined));
  const [first, last] = [chain[0]!, chain.at(-1)!];
  expect(verifier.result()).toEqual({
    organizationId: "org_a",
    first: 1,
    last: 6,
    previous: first.previous,
    head: last.hash,
  });
  expect(faultOf(lines.slice(2, 5))).toBeUndefined();
  expect(createVerifier().result()).toBeUndefined();
});

const changed = (index: number): ChainedEvent => {
  const { event, ...link } = chain[index]!;
  return { ...link, event: { ...event, action: "signed_out" } };
};
const rehashed = (index: number): string => {
  const { hash: _, ...link } = changed(index);
  return lineOf({ ...link, hash: hashOf(link) });
};
const without = (...gone: number[]): string[] => lines.filter((_, index) => !gone.includes(index));

test.each<[string, string[], number, string]>([
  ["changed", lines.with(2, lineOf(changed(2))), 3, "was changed"],
  ["changed in one character", lines.with(3, lines[3]!.replace('"n":3', '"n":4')), 4, "was changed"],
  ["given a space", lines.with(0, lines[0]!.replace(",", ", ")), 1, "was changed"],
  ["given a key twice", lines.with(1, lines[1]!.replace('{"event"', '{"event":{},"event"')), 2, "was changed"],
  ["not JSON", lines.with(5, lines[5]!.slice(0, -1)), 6, "was changed"],
  ["null", lines.with(1, "null"), 2, "was changed"],
  ["empty", lines.with(1, ""), 2, "was changed"],
  ["changed with its hash", lines.with(2, rehashed(2)), 4, "event 3 or 4 was replaced"],
  ["the first, changed with its hash", lines.with(0, rehashed(0)), 2, "event 1 or 2 was replaced"],
  ["removed", without(2), 3, "event 3 was removed before it"],
  ["several removed", without(1, 2, 3), 2, "events 2 to 4 were removed before it"],
  ["twice", lines.toSpliced(3, 0, lines[2]!), 4, "event 3 belongs before it"],
  [
    "moved forward",
    [...without(1).slice(0, 3), lines[1]!, ...lines.slice(4)],
    2,
    "event 2 was removed before it, or moved",
  ],
  ["two swapped", lines.with(2, lines[3]!).with(3, lines[2]!), 3, "event 3 was removed before it, or moved"],
  ["another organization's", lines.with(4, lineOf(chainOf(6, "org_b")[4]!)), 5, "another organization's"],
  ["a first one that is not", [lineOf(chainOf(1, "org_a", 4)[0]!)], 1, "does not fit its number 4"],
  ["a first one after another", [lineOf(chainOf(1, "org_a", 1, "1".repeat(64))[0]!)], 1, "does not fit its number 1"],
])("a line that was %s is found", (_, texts, line, why) => {
  expect(faultOf(texts)).toEqual([line, expect.stringContaining(why)]);
});

test("a chain that was rebuilt from a changed line on has another head", () => {
  const forged = chainOf(6, "org_a", 1);
  const end = chainOf(3, "org_a", 4, forged[2]!.hash).map(({ event, ...link }) => ({ ...link, event }));
  const verifier = createVerifier();
  const rebuilt = [...forged.slice(0, 3), ...end].map(lineOf);
  // The events of `end` have other details than those of `chain`.
  for (const line of rebuilt) expect(verifier.take(line)).toBeUndefined();
  expect(verifier.result()!.head).not.toBe(chain.at(-1)!.hash);
});
