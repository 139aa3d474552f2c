/**
 * Runs of every shape the language has, each with what it must become whatever is killed meanwhile. Their calls go to
 * test/sink.ts by `run` and `step`; what a call answers is dropped, as a repeat is answered otherwise.
 */
import { stringify } from "yaml";
import { agentOf } from "../runs.ts";
import { scaled } from "../scale.ts";
import type { TestServer } from "../client.ts";

export type Shape = {
  name: string;
  /** The arguments beside `document`. */
  body: object;
  input?: object;
  status: "completed" | "failed";
  /** The output, or the last segment of the error's type. */
  result: unknown;
  /** `name status` of each step, sorted: branches come in any order. */
  steps: string[];
  /** How its approval is to be decided. */
  decision?: "approve" | "reject";
};

const BROKEN = { type: "https://example.org/errors/broken", status: 422, title: "Broken" };
const COMPLETED = (...names: string[]): string[] => names.map((name) => `${name} completed`).toSorted();
/** The most calls that a run of these shapes makes at the same time. */
export const CALLS_AT_ONCE = 2;
/** A workload has at least one for each shape. */
export const CLIENTS = scaled({ whole: 20, part: 14 });

/** A call of the sink, whose answer is dropped. */
const callOf = (url: string, step: string): object => ({
  call: "http",
  with: { method: "post", endpoint: url, query: { run: "${ $workflow.id }", step } },
  output: { as: "${ $input }" },
});

/** Its call gets no answer until it is made again: under way until something kills who made it. `sink`: its URL. */
export const unanswered = (sink: string): Shape => ({
  name: "unanswered",
  body: { do: [{ post: callOf(`${sink}/hang/1`, "post") }, { done: { set: { n: 1 } } }] },
  status: "completed",
  result: { n: 1 },
  steps: COMPLETED("post", "done"),
});

/** `sink`: its URL. `callMs`: how long it takes to answer. */
export function shapesOf(sink: string, callMs = 40): Shape[] {
  const call = (step: string, behaviour = `/delay/${callMs}`): object => callOf(`${sink}${behaviour}`, step);
  const child = (name: string, more: object = {}): object => ({
    run: { workflow: { namespace: "test", name, version: "1.0.0", input: { n: 1 } }, ...more },
  });
  const set = (value: object): object => ({ set: value });
  return [
    {
      name: "data",
      body: {
        do: [
          { begin: set({ n: "${ .n + 1 }" }) },
          { choose: { switch: [{ large: { when: "${ .n > 5 }", then: "large" } }, { other: { then: "small" } }] } },
          { small: { ...set({ size: "small" }), then: "end" } },
          { large: set({ size: "large" }) },
        ],
      },
      input: { n: 7 },
      status: "completed",
      result: { size: "large" },
      steps: COMPLETED("begin", "choose", "large"),
    },
    {
      name: "calls",
      body: { do: [{ one: call("one") }, { two: call("two") }, { three: call("three") }, { done: set({ n: 3 }) }] },
      status: "completed",
      result: { n: 3 },
      steps: COMPLETED("one", "two", "three", "done"),
    },
    {
      name: "retried",
      body: {
        do: [
          {
            patient: {
              try: [{ post: call("post", `/delay/${callMs}/refuse/2`) }],
              catch: {
                when: "${ .status == 503 }",
                retry: {
                  delay: { milliseconds: 50 },
                  backoff: { exponential: { factor: 2 } },
                  limit: { attempt: { count: 3 } },
                },
              },
            },
          },
          { done: set({ n: 1 }) },
        ],
      },
      status: "completed",
      result: { n: 1 },
      steps: COMPLETED("patient", "done"),
    },
    {
      name: "waits",
      body: {
        do: [
          { short: { wait: { milliseconds: 200 } } },
          { long: { wait: { milliseconds: 1_300 } } },
          { done: set({ n: 1 }) },
        ],
      },
      status: "completed",
      result: { n: 1 },
      steps: COMPLETED("short", "long", "done"),
    },
    {
      name: "approved",
      body: {
        do: [
          { ask: { call: "approval:1.0.0@default", with: { question: "Really?" } } },
          { post: call("post") },
          { done: set({ approved: "${ .approved }" }) },
        ],
      },
      decision: "approve",
      status: "completed",
      result: { approved: true },
      steps: COMPLETED("ask", "post", "done"),
    },
    {
      name: "rejected",
      body: {
        do: [
          {
            careful: {
              try: [{ ask: { call: "approval:1.0.0@default", with: { question: "Really?" } } }],
              catch: { errors: { with: { status: 403 } }, do: [{ no: set({ approved: false }) }] },
            },
          },
          { post: call("post") },
        ],
      },
      decision: "reject",
      status: "completed",
      result: { approved: false },
      steps: ["ask failed", ...COMPLETED("careful", "no", "post")].toSorted(),
    },
    {
      name: "loop",
      body: {
        do: [
          { begin: set({ sum: 0 }) },
          {
            each: {
              for: { in: "${ [1, 2, 3] }" },
              do: [{ post: call('${ "item\\($index)" }') }, { add: set({ sum: "${ .sum + $item }" }) }],
            },
          },
        ],
      },
      status: "completed",
      result: { sum: 6 },
      steps: COMPLETED("begin", "each", "post", "add", "post", "add", "post", "add"),
    },
    {
      name: "branches",
      body: {
        do: [
          { begin: set({ n: 1 }) },
          {
            all: {
              fork: {
                branches: [
                  { left: call("left") },
                  { middle: { do: [{ nap: { wait: { milliseconds: 150 } } }, { b: set({ n: 2 }) }] } },
                  { right: { do: [{ one: call("one") }, { two: call("two") }, { c: set({ n: 3 }) }] } },
                ],
              },
            },
          },
        ],
      },
      status: "completed",
      result: [{ n: 1 }, { n: 2 }, { n: 3 }],
      steps: COMPLETED("begin", "all", "left", "middle", "nap", "b", "right", "one", "two", "c"),
    },
    {
      name: "race",
      body: {
        do: [
          {
            first: {
              fork: {
                compete: true,
                branches: [
                  { quick: { do: [{ nap: { wait: { milliseconds: 300 } } }, { won: set({ winner: "quick" }) }] } },
                  { slow: { do: [{ post: call("post", "/hang") }, { never: set({ winner: "slow" }) }] } },
                ],
              },
            },
          },
        ],
      },
      status: "completed",
      result: { winner: "quick" },
      steps: [...COMPLETED("first", "quick", "nap", "won"), "slow cancelled", "post cancelled"].toSorted(),
    },
    {
      name: "items",
      body: {
        do: [
          {
            every: {
              call: "each:1.0.0@default",
              with: {
                in: "${ [1, 2, 3, 4] }",
                concurrency: 2,
                onError: "collect",
                do: [
                  { post: call('${ "item\\($index)" }') },
                  { check: { if: "${ $item == 3 }", raise: { error: BROKEN } } },
                ],
              },
              output: { as: '${ [.[] | has("error")] }' },
            },
          },
        ],
      },
      status: "completed",
      result: [false, false, true, false],
      steps: [
        ...COMPLETED("every", "post", "post", "post", "post"),
        "check failed",
        ...Array.from({ length: 3 }, () => "check skipped"),
      ].toSorted(),
    },
    {
      name: "parent",
      body: {
        do: [
          { awaited: { ...child("calls"), output: { as: "${ {of: .n} }" } } },
          { free: { ...child("data", { await: false }), output: { as: "${ $input }" } } },
        ],
      },
      status: "completed",
      result: { of: 3 },
      steps: COMPLETED("awaited", "free"),
    },
    {
      name: "parent-of-broken",
      body: {
        do: [
          {
            careful: {
              try: [{ awaited: child("broken") }],
              catch: { errors: { with: { status: 422 } }, do: [{ caught: set({ caught: true }) }] },
            },
          },
        ],
      },
      status: "completed",
      result: { caught: true },
      steps: ["awaited failed", ...COMPLETED("careful", "caught")].toSorted(),
    },
    {
      name: "impatient",
      body: {
        do: [
          {
            careful: {
              try: [{ post: { ...call("post", "/hang"), timeout: { after: { milliseconds: 300 } } } }],
              catch: { errors: { with: { status: 408 } }, do: [{ late: set({ late: true }) }] },
            },
          },
        ],
      },
      status: "completed",
      result: { late: true },
      steps: ["post failed", ...COMPLETED("careful", "late")].toSorted(),
    },
    {
      name: "broken",
      body: { do: [{ post: call("post") }, { break: { raise: { error: BROKEN } } }] },
      status: "failed",
      result: "broken",
      steps: ["break failed", ...COMPLETED("post")].toSorted(),
    },
  ];
}

/** Publishes them all; answers the agents' ids by name. */
export async function publishShapes(
  server: Pick<TestServer, "data" | "graphql" | "world">,
  shapes: Shape[],
): Promise<Map<string, string>> {
  const agents = new Map<string, string>();
  for (const { name, body } of shapes) {
    agents.set(name, await agentOf(server, stringify(body, { lineWidth: 0 }), name));
  }
  return agents;
}
