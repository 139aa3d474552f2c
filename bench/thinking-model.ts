/**
 * A model that speaks OpenAI's protocol, in a process of its own: it asks for the tool that it is offered until it has read as many
 * answers as its last argument says, and then answers.
 *
 *     node bench/thinking-model.ts 50
 *
 * It prints `{"url"}` when it listens.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

const most = Number(process.argv[2] ?? 50);

function answerTo(body: string): string {
  // Counted in the text: to parse 200 kB for each answer would cost what is to be measured.
  const read = body.split('"role":"tool"').length - 1;
  const call = { id: `call_${read}`, type: "function", function: { name: "look", arguments: `{"page":${read}}` } };
  const message =
    read < most
      ? { role: "assistant", content: null, tool_calls: [call] }
      : { role: "assistant", content: `${read} pages` };
  return JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_800_000_000,
    model: "thinking",
    choices: [{ index: 0, message, finish_reason: read < most ? "tool_calls" : "stop" }],
    usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
  });
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  response.setHeader("content-type", "application/json").end(answerTo(body));
}

const server = createServer((request, response) => void respond(request, response));
server.listen(0, "127.0.0.1");
await once(server, "listening");
console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }));
