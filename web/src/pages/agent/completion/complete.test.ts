import { expect, test } from "vitest";
import { parseDefinition } from "../../../../../server/src/definition/parse-definition.ts";
import { PROFILE } from "../../../../../server/src/definition/profile/profile.ts";
import { KINDS } from "../../../../../server/src/definition/tasks/kinds.ts";
import { languageOf } from "../../../../language.ts";
import { offersAt } from "./complete.ts";
import { placeAt } from "./place.ts";
import { HOLE } from "./written.ts";

const LANGUAGE = languageOf(PROFILE);

/** The offers where `|` stands. */
function offers(text: string) {
  const lines = text.replace("|", "").split("\n");
  const at = text.slice(0, text.indexOf("|")).split("\n").length - 1;
  const before = text.split("\n")[at]!.split("|")[0]!;
  const place = placeAt(lines, at, before);
  return place ? offersAt(LANGUAGE, lines, place) : [];
}
const labels = (text: string): string[] => offers(text).map(({ label }) => label);
const textOf = (text: string, label: string): string | undefined =>
  offers(text)
    .find((one) => one.label === label)
    ?.text.replaceAll(HOLE, "¦");

const HEAD = `document:
  dsl: "1.0.3"
  namespace: test
  name: greeter
  version: "1.0.0"
`;

test("each key of a place is offered but for those that are there", () => {
  expect(labels(`${HEAD}|`)).toEqual(["input", "output", "use", "timeout", "do", "evaluate", "schedule"]);
  expect(labels(`document:\n  dsl: "1.0.3"\n  na|\n  version: "1.0.0"`)).toEqual(
    expect.arrayContaining(["namespace", "name", "title"]),
  );
  expect(labels(`document:\n  dsl: "1.0.3"\n  |`)).not.toContain("dsl");
  const ofHttp = labels("do:\n  - ask:\n      call: http\n      with:\n        method: get\n        |");
  expect(ofHttp).toEqual(expect.arrayContaining(["endpoint", "headers", "query", "body"]));
  expect(ofHttp).not.toContain("method");
  expect(ofHttp).not.toContain("question");
  // The list stands at its key's own column, and the call below what belongs to it.
  expect(labels("do:\n- ask:\n    with:\n      |\n    call: approval:1.0.0@default")).toEqual(
    expect.arrayContaining(["question", "assignee", "form"]),
  );
  const required = offers("do:\n  - ask:\n      call: http\n      with:\n        |").filter(({ detail }) => detail);
  expect(required.map(({ label }) => label)).toEqual(["method", "endpoint"]);
  expect(
    labels("do:\n  - again:\n      try:\n        - a: {set: {}}\n      catch:\n        retry:\n          |"),
  ).toEqual(expect.arrayContaining(["delay", "backoff", "limit", "jitter"]));
});

test("a task is offered whole, with the keys that it must have", () => {
  const items = labels("do:\n  - |");
  const calls = Object.values(KINDS).flatMap((kind) => ("call" in kind ? [`call: ${kind.call.split(":")[0]}`] : []));
  expect(items).toEqual(expect.arrayContaining([...calls, "set", "for", "try", "wait"]));
  expect(textOf("do:\n  - |", "call: http")).toBe(
    "¦:\n      call: http\n      with:\n        method: ¦\n        endpoint: ¦",
  );
  expect(textOf("do:\n  - ask:\n      |", "call: approval")).toBe(
    "call: approval:1.0.0@default\n      with:\n        question: ¦",
  );
  expect(textOf("do:\n  - ask:\n      |", "for")).toBe("for:\n        in: ¦\n      do:\n        - ¦");
  expect(labels("do:\n  - ask:\n      call: http\n      |")).not.toContain("call: approval");
  expect(labels("do:\n  - ask:\n      if: ${ . }\n      |")).toContain("call");
});

test("values are offered where there are few, and names that the text has", () => {
  expect(labels("do:\n  - ask:\n      call: |")).toEqual(
    Object.values(KINDS).flatMap((kind) => ("call" in kind ? [kind.call] : [])),
  );
  expect(labels("do:\n  - ask:\n      call: approval:1.0.0@default\n      with:\n        onReject: c|")).toEqual([
    "fail",
    "continue",
  ]);
  expect(labels("do:\n  - one:\n      run:\n        await: |")).toEqual(["true", "false"]);
  const list =
    "do:\n  - one:\n      set: {}\n      then: |\n  # two\n  - three:\n      switch:\n        - odd: {}\n  - four:\n      set: {}";
  expect(labels(list)).toEqual(["one", "three", "four", "continue", "exit", "end"]);
  expect(labels("do:\n  - way:\n      switch:\n        - odd:\n            then: |\n  - on:\n      set: {}")).toEqual([
    "way",
    "on",
    "continue",
    "exit",
    "end",
  ]);
  const use =
    "use:\n  timeouts:\n    short:\n      after: PT1S\n    long:\n      after: PT1H\ndo:\n  - a:\n      timeout: |";
  expect(labels(use)).toEqual(["short", "long"]);
});

test.for([
  ["a comment", "do:\n  # |"],
  ["a text in quotes", 'do:\n  - ask:\n      call: "|'],
  ["flow style", "do:\n  - ask: {|"],
  ["a block of text", "do:\n  - ask:\n      set:\n        text: >-\n          |"],
  ["behind a value", "do:\n  - ask:\n      call: http |"],
  ["below a value", "document:\n  name: greeter\n    |"],
] as const)("nothing is offered in %s", ([, text]) => {
  expect(labels(text)).toEqual([]);
});

test("what is offered for each kind of task is a task once its holes are filled", () => {
  const tasks = offers("do:\n  - |").filter(({ type }) => type === "class");
  const problems = tasks.flatMap(({ label, text }) => {
    const filled = text.replaceAll(`- ${HOLE}`, "- x: {set: {y: 1}}").replaceAll(HOLE, "x");
    return parseDefinition(`${HEAD}do:\n  - ${filled}`).problems.map(({ message }) => `${label}: ${message}`);
  });
  expect(tasks.length).toBeGreaterThanOrEqual(Object.keys(KINDS).length);
  // A case of a `switch` is the author's, too.
  expect(problems.filter((problem) => /is (missing|not known) in (?!a case)/.test(problem))).toEqual([]);
});
