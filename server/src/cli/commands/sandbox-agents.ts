/** The sandbox's agents: small, always the same, without side effects except `call`'s (docs/cli.md describes them). */
import { stringify } from "yaml";

const DSL = "1.0.3";
const VERSION = "1.0.0";
export const SANDBOX_AGENTS = ["three", "echo", "slow", "call", "approve"] as const;
export type SandboxAgent = (typeof SANDBOX_AGENTS)[number];

/** YAML texts by handle. `sink` is the URL that `call` posts to; `namespace` the project's handle. */
export function sandboxDefinitions(namespace: string, sink: string): Record<SandboxAgent, string> {
  const text = (name: SandboxAgent, title: string, rest: object): string =>
    stringify({ document: { dsl: DSL, namespace, name, version: VERSION, title }, ...rest }, { lineWidth: 0 });
  return {
    three: text("three", "Adds three", { input: form({ n: { type: "number" } }), do: repeat(3, "add", () => ADD_ONE) }),
    echo: text("echo", "Says it back", {
      input: form({ text: { type: "string", maxLength: 100_000 } }),
      do: [{ echo: { set: { text: "${ .text }" } } }],
    }),
    slow: text("slow", "Takes three seconds", { do: repeat(30, "wait", () => ({ wait: { milliseconds: 100 } })) }),
    call: text("call", "Calls three times", {
      use: { retries: { patient: PATIENT } },
      do: repeat(3, "call", (step) => post(sink, step)),
    }),
    approve: text("approve", "Asks a person", {
      do: [
        { ask: { call: "approval:1.0.0@default", with: { question: "May it go on?" } } },
        { done: { set: { approved: "${ .approved }", comment: "${ .comment }" } } },
      ],
    }),
  };
}

/** All fields required. */
const form = (properties: object) => ({
  schema: { format: "json", document: { type: "object", properties, required: Object.keys(properties) } },
});

const ADD_ONE = { set: { n: "${ .n + 1 }" } };

/** `add1`, `add2`, … */
const repeat = (count: number, name: string, task: (step: number) => object): object[] =>
  Array.from({ length: count }, (_, index) => ({ [`${name}${index + 1}`]: task(index + 1) }));

/**
 * Survives outages of the sink of up to half an hour, and calls it within two seconds of its return. That makes at most
 * 920 tries, below the 1,000 that a step may have.
 */
const PATIENT = {
  delay: { milliseconds: 200 },
  backoff: { exponential: { factor: 2, maxDelay: { seconds: 2 } } },
  limit: { attempt: { duration: { seconds: 10 } }, duration: { minutes: 30 } },
};

/** A `try` around one call is one step, whose attempts are its tries. Refused, cut off: 500; no answer in time: 408. */
const post = (sink: string, step: number) => ({
  try: [
    {
      post: {
        call: "http",
        with: { method: "post", endpoint: sink, query: { run: "${ $workflow.id }", step: String(step) } },
      },
    },
  ],
  catch: { when: "${ .status >= 500 or .status == 408 }", retry: "patient" },
});
