import { expect, test } from "vitest";
import { isDeepStrictEqual } from "node:util";
import type { FormField } from "../../definition/form/form.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { leastMs } from "../../lib/processor-time.testsuite.ts";
import { AGENTS } from "./agents.fixture.ts";
import { atOnce } from "../../fairness/slices.ts";
import { findAgent, wordsFor } from "../find-agent.ts";
import { readSentence } from "./read-sentence.ts";
import { FRESH_SENTENCES } from "./fresh-sentences.fixture.ts";
import { LATER_SENTENCES } from "./later-sentences.fixture.ts";
import { OTHER_AGENTS, TURNS_OF_PHRASE } from "./turns-of-phrase.fixture.ts";
import { SENTENCES, TODAY, type Sentence } from "./sentences.fixture.ts";

type Score = { fields: number; right: number; wrong: number; agents: number; agentsRight: number; misses: string[] };

/** A field is right when it has the expected value; wrong when it has another, or one where none is expected. */
export function scoreOf(sentences: Sentence[]): Score {
  const score: Score = { fields: 0, right: 0, wrong: 0, agents: 0, agentsRight: 0, misses: [] };
  for (const [written, text, expected] of sentences) {
    const handle = written.replace("?", "");
    const named = AGENTS.find((agent) => agent.handle === handle);
    if (written.startsWith("?")) {
      score.agents++;
      const found = atOnce(findAgent(AGENTS, text));
      if (found === named) score.agentsRight++;
      else score.misses.push(`${text}: found ${found?.handle ?? "no agent"}`);
    }
    if (!named) continue;
    const input: JsonObject = readSentence({ ...named, text, today: TODAY }).input;
    for (const name of new Set([...Object.keys(expected), ...Object.keys(input)])) {
      const [want, got] = [expected[name], input[name]];
      if (want !== undefined) score.fields++;
      if (want !== undefined && isDeepStrictEqual(want, got)) score.right++;
      else {
        if (got !== undefined) score.wrong++;
        score.misses.push(`${text}: ${name} = ${JSON.stringify(got)}, not ${JSON.stringify(want)}`);
      }
    }
  }
  return score;
}

test("of the sentences that were written before the parser 90 % of the fields are right and at most 3 % wrong", () => {
  const { fields, right, wrong, agents, agentsRight, misses } = scoreOf(SENTENCES);
  expect(SENTENCES.length).toBeGreaterThanOrEqual(120);
  expect(right / fields, misses.join("\n")).toBeGreaterThanOrEqual(0.9);
  expect(wrong / fields, misses.join("\n")).toBeLessThanOrEqual(0.03);
  expect(agentsRight, misses.join("\n")).toBe(agents);
});

test("of those sentences and of forty that were written after it two fields stay empty, and none is wrong", () => {
  const known = scoreOf([...SENTENCES, ...LATER_SENTENCES]);
  const { fields, right, wrong, agents, agentsRight, misses } = known;
  expect([right, wrong, agentsRight], misses.join("\n")).toEqual([fields - 2, 0, agents]);
  expect(fields).toBe(318 + 117);
});

/** docs/drafts.md states the figures of its first run. */
const fresh = scoreOf(FRESH_SENTENCES);
test(`of ${FRESH_SENTENCES.length} fresh sentences ${fresh.right} of ${fresh.fields} fields are right and ${fresh.wrong} filled wrongly, ${fresh.agentsRight} of ${fresh.agents} agents found`, () => {
  expect([FRESH_SENTENCES.length, fresh.fields, fresh.agents]).toEqual([40, 152, 12]);
  expect(fresh.right, fresh.misses.join("\n")).toBeGreaterThanOrEqual(151);
  expect(fresh.wrong, fresh.misses.join("\n")).toBeLessThanOrEqual(3);
  expect(fresh.agentsRight, fresh.misses.join("\n")).toBeGreaterThanOrEqual(10);
});

test.each([
  [
    "sales-report",
    "Q3 with the note “mind, the gap”, for Europe",
    { from: "Q3", to: "Q3", note: "note “mind, the gap”", region: "Europe" },
  ],
  ["sales-report", "Q3, please leave the refunds out", { from: "Q3", to: "Q3", include_refunds: "leave the refunds" }],
  [
    "refund",
    "5 EUR or 6 EUR for order number A5, and don't ever notify the customer",
    {
      order_id: "order number A5",
      amount: "5 EUR or 6",
      currency: "EUR",
      notify_customer: "don't ever notify the customer",
    },
  ],
  [
    "invoice-reminder",
    "due before 1 December, cc a@x.io and b@x.io",
    { due_before: "due before 1 December", cc: "cc a@x.io and b@x.io" },
  ],
  [
    "onboarding",
    "Onboard Ada Byron, start date: 1 December, in sales or marketing",
    { full_name: "Ada Byron", start_date: "start date: 1 December", department: "sales or marketing" },
  ],
  [
    "deploy",
    "3 replicas of web everywhere but us-east",
    { service: "web", replicas: "3 replicas", regions: "everywhere but us-east" },
  ],
])("%s: %s: each field says which words it was read from", (handle, text, sources) => {
  const agent = AGENTS.find((known) => known.handle === handle)!;
  const { fields } = readSentence({ ...agent, text, today: TODAY });
  expect(Object.fromEntries(fields.map(({ name, source }) => [name, source]))).toEqual(sources);
});

test("what lies between two doubtful places is read, and the rest is unread", () => {
  const agent = AGENTS.find(({ handle }) => handle === "onboarding")!;
  const text = "Ada Byron, in sales, and Grace Hopper, quickly";
  const { input, fields, unread, missing } = readSentence({ ...agent, text, today: TODAY });
  expect(input).toEqual({ department: "sales" });
  expect(fields[0]).toEqual({
    name: "full_name",
    value: null,
    source: "Ada Byron, in sales, and Grace Hopper",
    sure: false,
    reason: "More than one name is in the sentence.",
  });
  expect([unread, missing]).toEqual([["quickly"], ["full_name", "start_date"]]);
});

test.each([
  ["pay 240 euros", "240 euros", { amount: 240 }, []],
  ["pay €240", "240", { amount: 240 }, []],
  // The field's amount in another currency is another amount.
  ["pay 240 dollars", "240", {}, ["dollars"]],
  ["pay $240", "240", {}, []],
])(
  "%s: the coin is read that the field's title names, and in another nothing is taken",
  (text, source, taken, left) => {
    const amount = { name: "amount", title: "Amount in euros", type: "number" as const, description: null };
    const fields: FormField[] = [{ ...amount, required: true, choices: null, default: null, maxLength: null }];
    const { input, fields: found, unread } = readSentence({ name: "Pay", fields, text, today: TODAY });
    expect([input, found[0]!.source, unread]).toEqual([taken, source, left]);
  },
);

test("filler words are not listed as not understood, and possibly meaningful ones are", () => {
  const unreadOf = (handle: string, text: string): string[] =>
    readSentence({ ...OTHER_AGENTS.find((known) => known.handle === handle)!, text, today: TODAY }).unread;
  expect(unreadOf("greeting", "Hello there, could you please say hello to Ada and Tom? Thanks")).toEqual([]);
  expect(unreadOf("expense", "Please pay 12.50 euros which I have spent for lunch")).toEqual(["spent for lunch"]);
  expect(unreadOf("greeting", "Greet Ada and Tom twice, and then sing")).toEqual(["twice", "sing"]);
});

test.each(TURNS_OF_PHRASE)("%s: %s", (handle, text, expected) => {
  const agent = [...AGENTS, ...OTHER_AGENTS].find((known) => known.handle === handle)!;
  expect(readSentence({ ...agent, text, today: TODAY }).input).toEqual(expected);
});

const choices = Array.from({ length: 1_000 }, (_, index) => ({ value: `choice_${index}`, title: `Choice ${index}` }));
const large = Array.from({ length: 100 }, (_, index) => ({
  name: `field_${index}`,
  title: `The field ${index}`,
  type: "choice" as const,
  description: null,
  required: true,
  choices,
  default: null,
  maxLength: null,
}));

test.each([
  ["words of the form", "the choice field ".repeat(60)],
  ["one word again and again", "the ".repeat(250)],
  ["quotes that nothing closes", "' \" “ ".repeat(160)],
  ["capitals", "I A ".repeat(250)],
  ["letters without end", "a".repeat(1_000)],
  ["numbers", "1,000 - 2 ".repeat(100)],
])("a form of 100,000 choices and %s take 100 ms of processor time at most, ten times that here", (_, text) => {
  const ask = (): ReturnType<typeof readSentence> =>
    readSentence({ name: "Any", fields: large, text: text.slice(0, 1_000), today: TODAY });
  const { input, unread } = ask();
  expect(input).toEqual({});
  expect(unread).toEqual([text.slice(0, 1_000)]);
  expect(leastMs(1_000, ask)).toBeLessThan(1_000);
});

test.each(["0026-03", "0026-03-01", "01/0026"])("%s is not read as a month of another year", (written) => {
  for (const agent of AGENTS)
    expect(JSON.stringify(readSentence({ ...agent, text: `report for ${written}`, today: TODAY }).input)).not.toMatch(
      /\d{4}-\d{2}-\d{2}/,
    );
});

/** 200 characters, each word of which is in no other title. */
const longTitle = (index: number): string =>
  Array.from({ length: 30 }, (_, at) => `a${(index * 30 + at).toString(36)}ing`)
    .join(" ")
    .slice(0, 200);
const many = (type: FormField["type"]): FormField[] =>
  Array.from({ length: 100 }, (_, index) => ({
    name: index === 0 ? "person" : `field_of_${type}_${index}`,
    title: longTitle(index),
    type,
    description: null,
    required: true,
    choices:
      type === "choice"
        ? Array.from({ length: 50 }, (__, at) => ({ value: `v${at}`, title: longTitle(100 + 50 * index + at) }))
        : null,
    default: null,
    maxLength: null,
  }));

test.each(
  (["boolean", "date", "number", "text", "choice"] as const).flatMap((type) =>
    ["hello", "Q1 ".repeat(333), "two bn ".repeat(140), "see Aqring, Aqding and ".repeat(40)].map(
      (text) => [type, text] as const,
    ),
  ),
)("100 fields of type %s with long titles and “%.9s…” take 100 ms at most, three times that here", (type, text) => {
  const ask = (): unknown =>
    readSentence({ name: "Any", fields: many(type), text: text.slice(0, 1_000), today: TODAY });
  expect(leastMs(300, ask)).toBeLessThan(300);
});

const filled = (text: string): string => text.repeat(Math.ceil(20_000 / text.length)).slice(0, 20_000);

test.each([
  ["digits", "7"],
  ["and", "and "],
  ["numbers", "1 2 "],
  ["ranges", "1 to 2 May "],
  ["rows of months", "May and June, "],
  ["quotes that nothing closes", "“ "],
  ["apostrophes", "'a"],
  ["quotes in each other", "“a «b ‘c 'd "],
  ["nested commas", "1,200,50,"],
  ["commas", ","],
  ["letters beyond Latin", "𝕏é漢\u0301 "],
  ["addresses", "a@b.c, "],
  ["words of a form", "all regions except eu-west or "],
  ["negations", "do not leave out "],
  ["articles", "the "],
])("20,000 characters of %s take 100 ms of processor time at most, five times that here", (_, text) => {
  const took = [...AGENTS, ...OTHER_AGENTS].map((agent) =>
    leastMs(500, () => readSentence({ ...agent, text: filled(text), today: TODAY })),
  );
  expect(Math.max(...took)).toBeLessThan(500);
});

test("a thousand agents and a long text too, whether all words differ or all are alike", () => {
  const plain = (index: number): string => `of things ${index}`;
  const rare = (index: number): string =>
    Array.from({ length: 33 }, (_, at) => `q${(index * 33 + at).toString(36).padStart(4, "z")}`).join(" ");
  const alike = Array.from({ length: 200 }, (_, index) => `q${index.toString(36).padStart(3, "y")}`).join(" ");
  for (const [nameOf, text] of [
    [plain, "ab ag an th ti ".repeat(66)],
    [rare, `deploy ${alike}`],
  ] as const) {
    const agents = Array.from({ length: 1_000 }, (_, index) => ({
      name: index === 0 ? "Deploy" : `Agent ${nameOf(index)}`,
      handle: `agent-${index}`,
    }));
    const find = (): unknown => atOnce(findAgent(agents, text));
    // A value that was not compared might be meant.
    expect(find()).toBeUndefined();
    expect(leastMs(1_000, find)).toBeLessThan(1_000);
  }
});

test("an agent is found by its name and by its handle, with hyphens and without", () => {
  const agents = [
    { name: "Ten-minute wait", handle: "ten-minute-wait" },
    { name: "Order intake", handle: "order-intake" },
  ];
  for (const text of ["ten-minute wait, note: hello", "run the ten minute wait", "ten-minute-wait"]) {
    expect([text, atOnce(findAgent(agents, text))?.handle]).toEqual([text, "ten-minute-wait"]);
  }
  expect(wordsFor(agents[0]!, "the ten-minute wait, please")).toBe("ten-minute wait");
});

test("a value that the form would refuse stays empty and says why", () => {
  const agent = AGENTS.find(({ handle }) => handle === "deploy")!;
  const misfit = (name: string): string | undefined => (name === "replicas" ? "must be at least 1" : undefined);
  const read = readSentence({ ...agent, text: "deploy web to staging, replicas 0, quickly", today: TODAY, misfit });
  expect(read.input).toEqual({ service: "web", environment: "staging" });
  expect(read.fields.find(({ name }) => name === "replicas")).toEqual({
    name: "replicas",
    value: null,
    source: "replicas 0",
    sure: false,
    reason: "It must be at least 1.",
  });
  expect(read.unread).toEqual(["quickly"]);
});
