/** The answer to a message, which a server sends as JSON or as the last event of a stream. */
import { WorkflowError } from "../../../definition/workflow-error.ts";
import { inTurns, type Steps } from "../../../fairness/slices.ts";
import { isObject, parseJson, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { essenceOf, isJson } from "../../../lib/media-type.ts";
import { decodeText } from "../../../outbound/body-text.ts";
import type { IsEnough } from "../../../outbound/answer.ts";
import type { OutboundResponse } from "../../../outbound/outbound.ts";
import type { Message } from "./message.ts";

export type RpcError = { code: Json; message: string; data: Json };

/** Neither: the server did not answer in the protocol. */
export type Reply = { result?: JsonObject; error?: RpcError };

/** `id`: of the message. In a stream anything else comes before its answer: progress, logs. */
export function* replyIn({ body, headers }: Pick<OutboundResponse, "body" | "headers">, id: number): Steps<Reply> {
  if (body.length === 0) return {};
  const essence = essenceOf(headers["content-type"]);
  if (isJson(essence)) return replyTo(id, read(decodeText(body, "utf-8")));
  if (essence !== "text/event-stream") return {};
  for (const data of eventsIn(decodeText(body, "utf-8"))) {
    yield;
    if (data === undefined || data === "") continue;
    const message = read(data);
    if (isObject(message) && message["id"] === id && message["method"] === undefined) return replyOf(message);
  }
  return {};
}

/** Notices the answer in a stream that its server leaves open. If none is waited for, the status is enough. Each byte is read once. */
export function repliedTo({ id }: Message, turn: () => Promise<void> | undefined): IsEnough {
  let parsed = 0;
  let searched = 0;
  return async ({ headers, body }) => {
    if (id === undefined) return true;
    if (essenceOf(headers["content-type"]) !== "text/event-stream") return false;
    const end = lastEventEnd(body, searched);
    searched = body.length;
    if (end <= parsed) return false;
    const events = body.subarray(parsed, end);
    parsed = end;
    await turn();
    try {
      const { result, error } = await inTurns(replyIn({ headers, body: events }, id), turn);
      return (result ?? error) !== undefined;
    } catch {
      // Refused when it is read as a whole.
      return true;
    }
  };
}

/** A blank line ends an event. */
const EVENT_ENDS = ["\n\n", "\n\r", "\r\r"];

/** The end of the last event that ends behind `from`, or 0. The second byte of a blank line may come later than the first. */
function lastEventEnd(body: Buffer, from: number): number {
  const start = Math.max(0, from - 1);
  const fresh = body.subarray(start);
  const at = Math.max(...EVENT_ENDS.map((end) => fresh.lastIndexOf(end)));
  return at < 0 ? 0 : start + at + 1;
}

/** An error may have another id, or none: some servers can't read it. A result with another one is the answer to something else. */
function replyTo(id: number, message: Json): Reply {
  const reply = replyOf(message);
  const given = isObject(message) ? message["id"] : undefined;
  return reply.result && given !== undefined && given !== id ? {} : reply;
}

export function replyOf(message: Json): Reply {
  if (!isObject(message)) return {};
  const { result, error } = message;
  if (isObject(error)) {
    const { code = null, message: said, data = null } = error;
    return { error: { code, message: typeof said === "string" ? said : "", data } };
  }
  return isObject(result) ? { result } : {};
}

function read(text: string): Json {
  try {
    return parseJson(text, "the answer");
  } catch (error) {
    throw WorkflowError.of("communication", (error as Error).message);
  }
}

const LINE = /([^\r\n]*)(?:\r\n|\n|\r|$)/y;

/** The data of each event (WHATWG HTML, server-sent events); undefined after every other line, for others to have their turn. */
function* eventsIn(text: string): Generator<string | undefined> {
  let data: string[] = [];
  for (let at = 0; at < text.length;) {
    LINE.lastIndex = at;
    const [whole, line] = LINE.exec(text)!;
    at += whole.length;
    if (line!.startsWith("data:")) data.push(line!.slice(line![5] === " " ? 6 : 5));
    const isOver = line === "" || at >= text.length;
    yield isOver && data.length > 0 ? data.join("\n") : undefined;
    if (isOver) data = [];
  }
}
