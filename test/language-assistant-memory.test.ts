/** A long conversation of a `call: assistant` with 200 kB of messages: what it holds in memory, and writes. bench/assistant.ts measures its time. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { start } from "./agents.ts";
import { eventually, startTestServer, type TestServer } from "./client.ts";
import { startEndpoint, type Endpoint } from "./endpoint.ts";
import { connectTo } from "./faults/audit.ts";
import { events, startLlmService, type LlmService, type Reply } from "./llm-service.ts";
import { agentOf, ENDED } from "./runs.ts";
import { scaled } from "./scale.ts";

const ITERATIONS = scaled({ whole: 1_000, part: 200 });
/** The heap is read here and at the end. */
const FIRST = ITERATIONS / 4;
const MESSAGES_BYTES = 200_000;
/** An iteration keeps its two rows and its messages, which the provider gets whole each time: 4 kB. One that kept its request would keep 200 kB. */
const MAX_GROWTH_BYTES = 10_000_000;
const TIMEOUT_MS = 900_000;

let server: TestServer;
let model: LlmService;
let endpoint: Endpoint;
beforeAll(async () => {
  [server, model, endpoint] = await Promise.all([
    startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } }),
    startLlmService(),
    startEndpoint(),
  ]);
  const { projectId } = server.world;
  const input = { projectId, name: "main", provider: "openai_compatible", baseUrl: model.url, model: "small" };
  await server.data("mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }", {
    input: { ...input, isDefault: true },
  });
});
afterAll(async () => {
  for (const one of [server, model, endpoint]) await one[Symbol.asyncDispose]();
});

/** A model that asks for a tool again and again. `met`: awaited before the answer to each question, counted from 1. */
function askAgain(met: (question: number) => Promise<void> | undefined): void {
  let questions = 0;
  model.think = () => {
    const question = ++questions;
    model.asked.length = endpoint.seen.length = 0;
    const reply = question < ITERATIONS ? LOOK : DONE;
    return (response) => void Promise.resolve(met(question)).then(() => reply(response));
  };
}

/** An answer as providers send it: in a stream. */
function streamed(delta: object, finish: string): Extract<Reply, (response: never) => void> {
  const chunk = { id: "1", object: "chat.completion.chunk", created: 1_800_000_000, model: "m" };
  const parts = [
    { ...chunk, choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    { ...chunk, choices: [], usage: { prompt_tokens: 300, completion_tokens: 40, total_tokens: 340 } },
  ];
  const text = parts.map((part) => `data: ${JSON.stringify(part)}\n\n`).join("");
  return events(`${text}data: [DONE]\n\n`) as Extract<Reply, (response: never) => void>;
}
const CALL = { index: 0, id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
const LOOK = streamed({ tool_calls: [CALL] }, "tool_calls");
const DONE = streamed({ content: "Done" }, "stop");

test(
  `${ITERATIONS} iterations with ${MESSAGES_BYTES / 1_000} kB of messages: memory stays flat, and the messages are not written again`,
  { timeout: TIMEOUT_MS },
  async () => {
    const client = await connectTo(server);
    const heap: number[] = [];
    let rewritten = 0;
    askAgain(async (question) => {
      if (question === ITERATIONS) {
        // The row with the question is not written again with each step.
        const { rows } = await client.query(
          "select s.revision as own, r.revision as all from steps s join runs r on r.id = s.run_id where s.kind = 'assistant'",
        );
        rewritten = rows[0].own / rows[0].all;
      }
      if (question === FIRST || question === ITERATIONS) heap.push((await server.measure(true)).heapBytes);
    });
    const call = { method: "get", endpoint: endpoint.url };
    const look = { http: { name: "look", description: "Looks.", parameters: { type: "object" }, call } };
    const limits = { iterations: ITERATIONS, toolCalls: ITERATIONS, tokens: 10_000_000 };
    const values = { prompt: "x".repeat(MESSAGES_BYTES), tools: [look], limits };
    const work = { call: "assistant:1.0.0@default", with: values };
    const id = await start(server, await agentOf(server, `do: ${JSON.stringify([{ work }])}`));
    const run = await eventually(async () => {
      const read = await server.data("query($id: ID!) { run(id: $id) { status output error { detail } } }", { id });
      return ENDED.includes(read.run.status) && read.run;
    }, TIMEOUT_MS);
    expect(run).toEqual({ status: "completed", output: "Done", error: null });
    expect(heap[1]! - heap[0]!).toBeLessThan(MAX_GROWTH_BYTES);
    expect(rewritten).toBeLessThan(0.1);
    await client.end();
  },
);
