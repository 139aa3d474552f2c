/** A small real service that speaks the protocol of OpenAI-compatible models. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export type Asked = {
  path: string;
  headers: IncomingMessage["headers"];
  authorization: string | undefined;
  key: string | undefined;
  body: any;
};
/** The answer: a text of the model, or whatever is done with the response. */
export type Reply = string | object | ((response: ServerResponse) => void);

export type LlmService = {
  url: string;
  /** All that was asked, the newest last. */
  asked: Asked[];
  /** In this order; when there is none left, the last one again. */
  replies: Reply[];
} & AsyncDisposable;

export async function startLlmService(): Promise<LlmService> {
  const asked: Asked[] = [];
  const service = { asked, replies: [] as Reply[] };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body: unknown = JSON.parse(await text(request));
    const { authorization, "idempotency-key": key } = request.headers;
    const { url, headers } = request;
    asked.push({ path: url!, headers, authorization, key: key as string | undefined, body });
    const reply = service.replies.length > 1 ? service.replies.shift()! : service.replies[0]!;
    if (typeof reply === "function") reply(response);
    else response.setHeader("content-type", "application/json").end(JSON.stringify(completion(reply)));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(service, {
    url: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

/** An answer that ended for another reason than its own end. */
export const ended =
  (reply: string, reason: string): Reply =>
  (response) => {
    const { choices, ...rest } = completion(reply);
    const [choice] = choices;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ...rest, choices: [{ ...choice, finish_reason: reason }] }));
  };

const completion = (reply: string | object) =>
  completionOf({ role: "assistant", content: typeof reply === "string" ? reply : JSON.stringify(reply) }, "stop");

const completionOf = (message: object, finish: string) => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1_800_000_000,
  model: "test-model",
  choices: [{ index: 0, message, finish_reason: finish }],
  usage: { prompt_tokens: 300, completion_tokens: 40, total_tokens: 340 },
});

/** A body in the words of another protocol. */
export const json =
  (body: object): Reply =>
  (response) =>
    void response.setHeader("content-type", "application/json").end(JSON.stringify(body));

/** The model asks for a function to be called. */
export const toolCall = (name: string, values: object): Reply =>
  json(
    completionOf(
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_1", type: "function", function: { name, arguments: JSON.stringify(values) } }],
      },
      "tool_calls",
    ),
  );

export const status =
  (code: number, headers: Record<string, string> = {}): Reply =>
  (response) =>
    void response
      .writeHead(code, { "content-type": "application/json", ...headers })
      .end(JSON.stringify({ error: { message: `status ${code}`, type: "test" } }));

/** Holds answers until the test releases them. */
export function held(): {
  reply: (response: ServerResponse) => void;
  release: (answer: (response: ServerResponse) => void) => void;
} {
  const waiting: ServerResponse[] = [];
  return { reply: (response) => void waiting.push(response), release: (answer) => waiting.splice(0).forEach(answer) };
}
export const send = (reply: string) => (response: ServerResponse) =>
  (ended(reply, "stop") as (to: ServerResponse) => void)(response);
