/** A small real service that speaks the protocol of OpenAI-compatible models. */
import { once } from "node:events";
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
/** The answer: a text of the model, as a stream if one is asked for, or whatever is done with the response. */
export type Reply = string | object | ((response: ServerResponse) => void);

export type LlmService = {
  url: string;
  /** All that was asked, the newest last. */
  asked: Asked[];
  /** In this order; when there is none left, the last one again. */
  replies: Reply[];
  /** Answers by what was asked instead, as a model does that keeps nothing between two questions. */
  think: ((asked: Asked) => Reply) | undefined;
} & AsyncDisposable;

export async function startLlmService(): Promise<LlmService> {
  const asked: Asked[] = [];
  const service = { asked, replies: [] as Reply[], think: undefined as LlmService["think"] };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body: unknown = JSON.parse(await text(request));
    const { authorization, "idempotency-key": key } = request.headers;
    const { url, headers } = request;
    const one: Asked = { path: url!, headers, authorization, key: key as string | undefined, body };
    asked.push(one);
    const next = (): Reply => (service.replies.length > 1 ? service.replies.shift()! : service.replies[0]!);
    const reply = service.think ? service.think(one) : next();
    if (typeof reply === "function") reply(response);
    else if (isObject(body) && body["stream"] === true) streamOf(textOf(reply))(response);
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

const textOf = (reply: string | object): string => (typeof reply === "string" ? reply : JSON.stringify(reply));
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

const completion = (reply: string | object) => completionOf({ role: "assistant", content: textOf(reply) }, "stop");

const completionOf = (message: object, finish: string) => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1_800_000_000,
  model: "test-model",
  choices: [{ index: 0, message, finish_reason: finish }],
  usage: { prompt_tokens: 300, completion_tokens: 40, total_tokens: 340 },
});

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const chunkOf = (delta: object, finish: string | null = null): string =>
  event({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_800_000_000,
    model: "test-model",
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
const LAST = `${event({ choices: [], usage: { prompt_tokens: 300, completion_tokens: 40, total_tokens: 340 } })}data: [DONE]\n\n`;

/** A stream of events whose text the test writes as it likes. */
export class Writing {
  readonly #responses: ServerResponse[] = [];
  /** Begins with what a stream has before its text. */
  readonly reply = (response: ServerResponse): void => {
    response.setHeader("content-type", "text/event-stream");
    response.write(chunkOf({ role: "assistant", content: "" }));
    this.#responses.push(response);
  };

  /** The streams that were asked for. */
  get count(): number {
    return this.#responses.length;
  }

  /** The newest one. */
  get #response(): ServerResponse {
    return this.#responses.at(-1)!;
  }

  get isClosed(): boolean {
    return this.#response.destroyed;
  }

  text(...deltas: string[]): void {
    this.send(deltas.map((content) => chunkOf({ content })).join(""));
  }

  send(events: string): boolean {
    return this.#response.write(events);
  }

  /** Resolves when what was written is on its way. */
  async drained(): Promise<void> {
    if (this.#response.writableNeedDrain) await once(this.#response, "drain");
  }

  end(finish = "stop"): void {
    this.#response.end(chunkOf({}, finish) + LAST);
  }

  /** Without its last events: closed as a whole answer is, or the socket with it. */
  breakOff(isSocket = true): void {
    if (isSocket) this.#response.destroy();
    else this.#response.end();
  }
}

/** Word by word. */
const streamOf =
  (reply: string): ((response: ServerResponse) => void) =>
  (response) => {
    const writing = new Writing();
    writing.reply(response);
    writing.text(...reply.split(/(?<= )/));
    writing.end();
  };

/** A body in the words of another protocol. */
export const json =
  (body: object): Reply =>
  (response) =>
    void response.setHeader("content-type", "application/json").end(JSON.stringify(body));

/** The same as a stream. */
export const events =
  (body: string): Reply =>
  (response) =>
    void response.setHeader("content-type", "text/event-stream").end(body);

/** The model asks for a function to be called. `values`: a text as it is. */
export const toolCall = (name: string, values: object | string): Reply => toolCalls([name, values]);

/** The model asks for several at once. */
export const toolCalls = (...calls: [name: string, values: object | string][]): Reply =>
  json(
    completionOf(
      {
        role: "assistant",
        content: null,
        tool_calls: calls.map(([name, values], index) => ({
          id: `call_${index + 1}`,
          type: "function",
          function: { name, arguments: typeof values === "string" ? values : JSON.stringify(values) },
        })),
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
