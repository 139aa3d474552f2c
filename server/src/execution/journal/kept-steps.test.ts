/** Kept steps of 10,000 are found by looking at each a few times, never at each for each. */
import { describe, expect, test } from "vitest";
import { leastMs } from "../../lib/processor-time.testsuite.ts";
import { compileWorkflow } from "../../definition/program.ts";
import { checkFit } from "./check-fit.ts";
import { contextOf, firstStep, keep, type OldSteps } from "./kept-steps.ts";
import type { JournalStep } from "./loaded-run.ts";

const step = (number: number, key: string, more: Partial<JournalStep> = {}): JournalStep => ({
  number,
  parentNumber: null,
  key,
  name: /([^/]+)#\d+$/.exec(key)![1]!,
  kind: "set",
  status: "completed",
  round: "",
  attempt: 1,
  state: {},
  input: undefined,
  output: null,
  error: null,
  response: null,
  startedAt: 0,
  finishedAt: number,
  revision: number,
  bytes: 0,
  heldBytes: 0,
  carriedBytes: 0,
  unsaved: undefined,
  outputText: undefined,
  ...more,
});

const programOf = (list: object[]) => compileWorkflow({ document: {}, do: list } as never);
const set = { set: { a: 1 } };
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

type Case = { name: string; list: object[]; steps: JournalStep[] };
const CASES: Case[] = [
  {
    name: "items of a loop",
    list: [{ loop: { for: { in: "${ . }" }, do: [{ one: set }] } }],
    steps: [
      step(1, "loop#1", { kind: "for", status: "failed" }),
      ...numbers(9_900).map((item) => step(item + 1, `loop#1/${item}/one#1`, { state: { context: item } })),
    ],
  },
  {
    name: "open items of open items",
    list: [
      {
        outer: {
          call: "each:1.0.0@default",
          with: {
            in: "${ . }",
            do: [{ inner: { call: "each:1.0.0@default", with: { in: "${ . }", do: [{ one: { wait: "PT1H" } }] } } }],
          },
        },
      },
    ],
    steps: [
      step(1, "outer#1", { kind: "each", status: "cancelled" }),
      ...numbers(99).flatMap((item) => {
        const at = 2 + (item - 1) * 100;
        const key = `outer#1/${item}/inner#1`;
        return [
          step(at, key, { kind: "each", status: "cancelled" }),
          ...numbers(99).map((one) => step(at + one, `${key}/${one}/one#1`, { kind: "wait", status: "cancelled" })),
        ];
      }),
    ],
  },
  {
    name: "tasks of one list",
    list: numbers(4_000).map((number) => ({ [`t${number}`]: set })),
    steps: numbers(4_000).map((number) => step(number, `t${number}#1`)),
  },
];

describe("from the last step and from the one that is found", () => {
  test.each(CASES)("$name: below 250 ms of the processor", ({ list, steps }) => {
    const program = programOf(list);
    const old: OldSteps = { steps, failed: undefined };
    for (const wanted of [steps.length, undefined]) {
      const spent = leastMs(250, () => {
        const kept = keep(old, firstStep(old, wanted), 1_000_000);
        contextOf(kept);
        checkFit(program, "1.0.0", kept);
      });
      expect(spent).toBeLessThan(250);
    }
  });
});

test("of what is around the step only the state goes on, of what was cancelled beside it nothing", () => {
  const steps = [
    step(1, "all#1", { kind: "fork", status: "failed", input: "of all", state: { taskInput: "kept" } }),
    step(2, "all#1/left#1", { kind: "wait", status: "cancelled", input: "of left" }),
    step(3, "all#1/right#1", { kind: "do", status: "failed" }),
    step(4, "all#1/right#1/deep#1", { status: "failed" }),
  ];
  const old: OldSteps = { steps, failed: steps[3] };
  const from = firstStep(old, undefined);
  expect(from?.key).toBe("all#1/right#1/deep#1");
  expect(keep(old, from, 7).map(({ key, status, input, state }) => [key, status, input, state])).toEqual([
    ["all#1", "running", "of all", { taskInput: "kept" }],
    ["all#1/left#1", "running", undefined, {}],
    ["all#1/right#1", "running", undefined, {}],
  ]);
});

test.each(["fork", "each"])(
  "of a %s that has not ended, what is beside the step is kept, however late it was reached",
  (kind) => {
    const [mine, other] = kind === "fork" ? ["left#1", "right#1"] : ["1/left#1", "2/left#1"];
    const stepsOf = (status: JournalStep["status"]): JournalStep[] => [
      step(1, "all#1", { kind, status }),
      step(2, `all#1/${mine}`, { kind: "do", status: "failed" }),
      step(3, `all#1/${mine}/bad#1`, { status: "failed" }),
      step(4, `all#1/${other}`, { kind: "do", status: "cancelled" }),
      step(5, `all#1/${other}/paid#1`),
      step(6, `all#1/${other}/stopped#1`, { status: "cancelled" }),
      step(7, "after#1"),
    ];
    const namesOf = (status: JournalStep["status"]): string[] => {
      const steps = stepsOf(status);
      return keep({ steps, failed: steps[2] }, steps[2], 7).map((one) => `${one.number} ${one.status}`);
    };
    expect(namesOf("failed")).toEqual(["1 running", "2 running", "4 running", "5 completed", "6 running"]);
    expect(namesOf("completed")).toEqual(["1 running", "2 running"]);
  },
);

test.each(["fork", "each"])(
  "of a %s whose branches failed together, what failed beside the step is done again",
  (kind) => {
    const [mine, other] = kind === "fork" ? ["left#1", "right#1"] : ["1/left#1", "2/left#1"];
    const tried = { round: "1.", status: "failed" } as const;
    const steps = [
      step(1, "all#1", { kind, status: "failed" }),
      step(2, `all#1/${mine}`, { kind: "do", status: "failed" }),
      step(3, `all#1/${other}`, { kind: "do", status: "failed" }),
      step(4, `all#1/${mine}/bad#1`, { status: "failed" }),
      step(5, `all#1/${other}/paid#1`),
      step(6, `all#1/${other}/attempt#1`, { kind: "try", state: { try: 1, caught: {} as never } }),
      step(7, `all#1/${other}/attempt#1/caught#1`, tried),
      step(8, `all#1/${other}/work#1`, { kind: "assistant", status: "failed" }),
      step(9, `all#1/${other}/work#1/steps/tool-1-1#1`, { status: "failed" }),
    ];
    const namesOf = (failed: JournalStep | undefined): string[] =>
      keep({ steps, failed }, steps[3], 7).map((one) => `${one.number} ${one.status}`);
    const kept = ["5 completed", "6 completed", "7 failed"];
    expect(namesOf(steps[3])).toEqual(["1 running", "2 running", "3 running", ...kept, "8 running", "9 failed"]);
    // Its items' errors are results: it ended for another reason.
    expect(namesOf(undefined)).toEqual(["1 running", "2 running", "3 failed", ...kept, "8 failed", "9 failed"]);
  },
);

test("of an assistant's input, what people granted does not go on: its kept decisions grant it again", () => {
  const input = { limits: { iterations: 2 }, granted: { iterations: 3 } };
  const steps = [
    step(1, "work#1", { kind: "assistant", status: "failed", input }),
    step(2, "work#1/steps/model-1#1"),
    step(3, "work#1/steps/model-2#1", { status: "failed" }),
    step(4, "work#1/steps/limit-iterations-1#1"),
  ];
  const [work] = keep({ steps, failed: steps[2] }, steps[2], 7);
  expect(work).toMatchObject({ status: "running", input: { limits: { iterations: 2 } } });
  expect(work!.input).not.toHaveProperty("granted");
  expect(steps[0]!.input).toBe(input);
});

test("of an assistant's answer, what another call has brought is kept, however late; what depends on the step is not", () => {
  const call = (number: number, key: string, from: number, to: number, more: Partial<JournalStep> = {}): JournalStep =>
    step(number, `work#1/steps/${key}#1`, { startedAt: from, finishedAt: to, ...more });
  const steps = [
    step(1, "work#1", { kind: "assistant", status: "cancelled" }),
    call(2, "model-1", 1, 2),
    call(3, "tool-1-1", 3, 9, { status: "cancelled" }),
    call(4, "approval-1-2", 3, 5),
    call(5, "approval-1-3", 3, 9, { status: "cancelled" }),
    call(6, "tool-1-2", 5, 7),
    call(7, "tool-1-4", 3, 8, { status: "failed" }),
    call(8, "tool-1-5", 3, 8, { status: "failed", state: { reached: "seconds" } }),
    call(9, "tool-11-2", 3, 8),
  ];
  const names = (from: JournalStep): string[] => keep({ steps, failed: undefined }, from, 10).map(({ name }) => name);
  expect(names(steps[2]!)).toEqual(["work", "model-1", "approval-1-2", "tool-1-2", "tool-1-4"]);
  expect(names(steps[3]!)).toEqual(["work", "model-1", "tool-1-1", "tool-1-4"]);
  expect(names(steps[1]!)).toEqual(["work"]);
});

describe("an assistant that ended with an error of its own goes on", () => {
  const own = (number: number, key: string, more: Partial<JournalStep> = {}): JournalStep =>
    step(number, `work#1/steps/${key}#1`, { startedAt: number, kind: key.split("-")[0]!, ...more });
  const cut = { status: "failed", state: { reached: "seconds" } } as const;
  const answer = [own(2, "model-1"), own(3, "tool-1-1"), own(4, "model-2")];
  test.each<[string, string, JournalStep[], string | undefined]>([
    ["at itself, before its first question", "limit", [], "work#1"],
    ["at the question that a limit ended", "limit", [...answer.slice(0, 2), own(4, "model-2", cut)], "model-2"],
    [
      "at the first call that a limit ended",
      "limit",
      [...answer, own(5, "tool-2-1"), own(6, "tool-2-2", cut)],
      "tool-2-2",
    ],
    [
      "at a question that a person refused",
      "limit",
      [...answer, own(5, "limit-tokens-1", { output: { approved: false } })],
      "limit-tokens-1",
    ],
    [
      "behind one that a person approved",
      "limit",
      [...answer, own(5, "limit-tokens-1", { output: { approved: true } })],
      undefined,
    ],
    [
      "at its last question, after calls that failed",
      "tool",
      [...answer, own(5, "tool-2-1", { status: "failed" })],
      "model-2",
    ],
    ["behind all that is over", "limit", answer, undefined],
    ["behind all that is over, after another error", "expression", answer, undefined],
    [
      "by the time: another conversation came before",
      "tool",
      [own(2, "model-1", { startedAt: 8 }), own(3, "model-2")],
      "model-1",
    ],
  ])("%s", (_, type, steps, key) => {
    const error = { type: `https://example.com/${type}` } as JournalStep["error"];
    const failed = step(1, "work#1", { kind: "assistant", status: "failed", error });
    const from = firstStep({ steps: [failed, ...steps], failed }, undefined);
    expect(from?.key.replace(/^work#1\/steps\/(.*)#1$/, "$1")).toBe(key);
  });
});

test("an assistant's seconds go on from the step at which it goes on, and begin again behind all of its steps", () => {
  const conversation = { hash: "a", since: 10 };
  const failed = step(1, "work#1", { kind: "assistant", status: "failed", state: { conversation } });
  const question = step(2, "work#1/steps/model-1#1", { kind: "model", startedAt: 15 });
  const sinceOf = (from: JournalStep | undefined): number | undefined =>
    keep({ steps: [failed, question], failed }, from, 100)[0]!.state.conversation?.since;
  expect([sinceOf(question), sinceOf(undefined)]).toEqual([95, undefined]);
});

/** Which of the steps that were stopped are open again, before the step that is done first. */
const openAgain = (steps: JournalStep[], from: number): string[] =>
  keep(
    { steps, failed: steps.at(-1) },
    steps.find(({ number }) => number === from),
    7,
  )
    .filter(({ status }) => status === "running")
    .map(({ key }) => key);
const stopped = { kind: "wait", status: "cancelled" } as const;

test("in a catch: what was stopped in the try stays as it is, what was stopped in the catch is open again", () => {
  const attempt = step(1, "attempt#1", { kind: "try", status: "failed", state: { try: 1, caught: {} as never } });
  const steps = [
    attempt,
    step(2, "attempt#1/inside#1", { ...stopped, round: "1." }),
    step(3, "attempt#1/catch/beside#1", stopped),
    step(4, "attempt#1/catch/bad#1", { status: "failed" }),
  ];
  expect(openAgain(steps, 4)).toEqual(["attempt#1", "attempt#1/catch/beside#1"]);
});

test("in a try: only what was stopped in its last round is open again, and nothing of a catch", () => {
  const steps = [
    step(1, "attempt#1", { kind: "try", status: "failed", state: { try: 2 } }),
    step(2, "attempt#1/early#1", { ...stopped, round: "1." }),
    step(3, "attempt#1/inner#1", { kind: "try", status: "failed", round: "2.", state: { try: 1 } }),
    step(4, "attempt#1/inner#1/catch/mend#1", { ...stopped, round: "1." }),
    step(5, "attempt#1/inner#1/late#1", { ...stopped, round: "2.1." }),
    step(6, "attempt#1/inner#1/gone#1", { ...stopped, round: "1.1." }),
    step(7, "attempt#1/inner#1/bad#1", { status: "failed", round: "2.1." }),
  ];
  expect(openAgain(steps, 7)).toEqual(["attempt#1", "attempt#1/inner#1", "attempt#1/inner#1/late#1"]);
});

test("in the catch of a second round: what was stopped in that of the first stays as it is", () => {
  const steps = [
    step(1, "attempt#1", { kind: "try", status: "failed", state: { try: 2 } }),
    step(2, "attempt#1/inner#1", {
      kind: "try",
      status: "failed",
      round: "2.",
      state: { try: 1, caught: {} as never },
    }),
    step(3, "attempt#1/inner#1/catch/first#1", { ...stopped, round: "1." }),
    step(4, "attempt#1/inner#1/catch/second#1", { ...stopped, round: "2." }),
    step(5, "attempt#1/inner#1/catch/bad#1", { status: "failed", round: "2." }),
  ];
  expect(openAgain(steps, 5)).toEqual(["attempt#1", "attempt#1/inner#1", "attempt#1/inner#1/catch/second#1"]);
});

test("in a loop: what was stopped in it is open again, what another round left is not", () => {
  const steps = [
    step(1, "loop#1", { kind: "for", status: "failed", state: { items: [1, 2] } }),
    step(2, "loop#1/1/pause#1", stopped),
    step(3, "loop#1/1/old#1", { ...stopped, round: "1." }),
    step(4, "loop#1/2/bad#1", { status: "failed" }),
  ];
  expect(openAgain(steps, 4)).toEqual(["loop#1", "loop#1/1/pause#1"]);
});

describe("the order of what is kept", () => {
  const attempt = { attempt: { try: [{ one: set }, { two: set }], catch: { retry: { delay: "PT1S" } } } };
  const rows = (...own: [name: string, number: number, attempt: number][]): JournalStep[] => [
    step(1, "attempt#1", { kind: "try", status: "running", state: { try: 2 } }),
    ...own.map(([name, number, tries]) => step(number, `attempt#1/${name}#1`, { round: "2.", attempt: tries })),
  ];
  const fit = (...own: [string, number, number][]) => checkFit(programOf([attempt]), "2.0.0", rows(...own));
  const another = /^step 2 \(two, set\) does not fit: version 2.0.0 comes to one before it$/;

  test("is that of the program", () => {
    expect(() => fit(["one", 2, 1], ["two", 3, 1])).not.toThrow();
    expect(() => fit(["one", 3, 1], ["two", 2, 1])).toThrow(another);
  });

  test("a step that was tried again keeps the number of its first try", () => {
    expect(() => fit(["one", 3, 1], ["two", 2, 2])).not.toThrow();
  });

  test("also when what stands before it was tried again", () => {
    expect(() => fit(["one", 3, 2], ["two", 2, 1])).toThrow(another);
  });
});

describe("a try around one call has that call's kind", () => {
  const call = { call: "http", with: { method: "get", endpoint: "https://example.com" } };
  const program = programOf([{ fetch: { if: "${ .wanted }", try: [{ once: call }], catch: {} } }, { end: set }]);
  const fit = (kind: string) =>
    checkFit(program, "2.0.0", [step(1, "fetch#1", { kind, status: "skipped" }), step(2, "end#1")]);

  test.each(["http", "try"])("also when its if has skipped it, and its row says %s", (kind) => {
    expect(() => fit(kind)).not.toThrow();
  });

  test("but no other", () => {
    expect(() => fit("run")).toThrow("step 1 (fetch, run) does not fit: version 2.0.0 has a task of kind http there");
  });

  test("steps of a task's own fit when it does", () => {
    const own = step(2, "fetch#1/steps/ask#1", { kind: "model" });
    expect(() =>
      checkFit(program, "2.0.0", [step(1, "fetch#1", { kind: "http", status: "running" }), own]),
    ).not.toThrow();
  });
});
