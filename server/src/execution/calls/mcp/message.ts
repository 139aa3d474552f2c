/** The messages that a call sends to an MCP server. */
import {
  CAPABILITIES_KEY,
  CLIENT_KEY,
  IDEMPOTENCY_KEY,
  STATELESS,
  VERSION_KEY,
  WITH_INITIALIZE,
} from "../../../lib/mcp/protocol.ts";
import { isObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { neededBy } from "../../../definition/tasks/mcp.ts";

/** The request that the author wrote. `id`: of its message; no two in a conversation have the same. */
export type Asked = {
  method: string;
  parameters: JsonObject;
  client: JsonObject;
  idempotencyKey: string;
  id?: number;
};

/** `id`: of the answer that is waited for. Without a body it ends a session. */
export type Message = { id?: number; headers: Record<string, string>; body?: JsonObject };

/** The revision and the name of a session that an older server has opened. */
export type Session = { revision: string; id: string | undefined };

const CALL_ID = 1;
const request = (id: number, method: string, params: JsonObject): JsonObject => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});

/** `more`: headers that repeat arguments. */
export function statelessMessage(asked: Asked, more: Record<string, string> = {}): Message {
  const { method, parameters, client, id = CALL_ID } = asked;
  const name = parameters[neededBy(method) ?? ""];
  const meta = { ...metaOf(asked), [VERSION_KEY]: STATELESS, [CLIENT_KEY]: client, [CAPABILITIES_KEY]: {} };
  return {
    id,
    headers: {
      "mcp-protocol-version": STATELESS,
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": headerValue(name) }),
      ...more,
      "idempotency-key": asked.idempotencyKey,
    },
    body: request(id, method, { ...parameters, _meta: meta }),
  };
}

export const initialize = ({ client }: Asked, revision: string = WITH_INITIALIZE[0]): Message => ({
  id: 0,
  headers: {},
  body: request(0, "initialize", { protocolVersion: revision, capabilities: {}, clientInfo: client }),
});

export const initialized = (session: Session): Message => ({
  headers: headersOf(session),
  body: { jsonrpc: "2.0", method: "notifications/initialized" },
});

export function messageInSession(asked: Asked, session: Session): Message {
  const { id = CALL_ID } = asked;
  const meta = metaOf(asked);
  const isEmpty = Object.keys(meta).length === 0;
  return {
    id,
    headers: { ...headersOf(session), "idempotency-key": asked.idempotencyKey },
    body: request(id, asked.method, isEmpty ? asked.parameters : { ...asked.parameters, _meta: meta }),
  };
}

export const endOf = (session: Session): Message => ({ headers: headersOf(session) });

const headersOf = ({ revision, id }: Session): Record<string, string> => ({
  "mcp-protocol-version": revision,
  ...(id !== undefined && { "mcp-session-id": id }),
});

/** The author's own, and the key by which a server like ours knows a repeated call. */
function metaOf({ method, parameters, idempotencyKey }: Asked): JsonObject {
  const given = parameters["_meta"];
  const own = isObject(given) ? given : {};
  return method === "tools/call" ? { [IDEMPOTENCY_KEY]: idempotencyKey, ...own } : own;
}

const PLAIN = /^(?! )[\x20-\x7e]*(?<! )$/;

/** A value that no header can carry goes in base64. */
export function headerValue(value: Json): string {
  const text = String(value);
  const isPlain = PLAIN.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return isPlain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}
