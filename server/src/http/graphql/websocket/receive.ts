/** Gives a message to graphql-ws by the rules of the one JSON entrance, and limits what graphql-ws keeps. */
import { CloseCode } from "graphql-ws";
import { isObject, parseJson, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { isHashAlone } from "../graphql-request.ts";
import type { Extra } from "./connection.ts";

const INVALID = "";
/** graphql-ws takes those that only servers send for its own mistake. */
const FROM_CLIENTS: readonly unknown[] = ["connection_init", "ping", "pong", "subscribe", "complete"];

type Handle = (text: string) => Promise<void>;

/** graphql-ws also takes a parsed message, although its type says text, so a large message is not parsed twice. */
const parsed = (message: object): string => message as unknown as string;

/** `text`: undefined for a binary message, which could not be read without changing what is not UTF-8. */
export function receive(extra: Extra, text: string | undefined, handle: Handle): Promise<void> {
  const message = text === undefined ? undefined : messageIn(text);
  if (text === undefined || !message) return handle(INVALID);
  const reason = tooLong(message, text);
  if (reason !== undefined) {
    extra.socket.close(CloseCode.BadRequest, reason);
    return Promise.resolve();
  }
  const { payload } = message;
  // graphql-ws would close the connection of a client that only sent the hash of a query.
  if (isObject(payload) && isHashAlone(payload)) payload["query"] = "";
  const held = extra.unanswered.hold(text);
  const { type, id } = message;
  // Messages that open a connection or end an operation must come through, and are short.
  if (!held && type !== "subscribe") return handle(type === "connection_init" ? text : JSON.stringify({ type, id }));
  // Without room it is answered with UNAVAILABLE. graphql-ws asks for the answer before it returns.
  extra.held = held;
  const handled = handle(parsed(held ? message : { type, id: id ?? null, payload: { query: "" } }));
  extra.held = undefined;
  return held ? handled.finally(() => held.release()) : handled;
}

/** Undefined for what no client may send. */
function messageIn(text: string): JsonObject | undefined {
  let message: Json;
  try {
    message = parseJson(text, "the message");
  } catch {
    return undefined;
  }
  return isObject(message) && FROM_CLIENTS.includes(message["type"]) ? message : undefined;
}

function tooLong({ type, id }: JsonObject, text: string): string | undefined {
  if (type === "connection_init" && text.length > LIMITS.connectionInitCharacters)
    return `connection_init has more than ${LIMITS.connectionInitCharacters} characters`;
  if (typeof id === "string" && id.length > LIMITS.operationIdCharacters)
    return `the id has more than ${LIMITS.operationIdCharacters} characters`;
  return undefined;
}
