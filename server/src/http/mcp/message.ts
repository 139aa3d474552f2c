/** One message of a client, checked against the request that brought it. */
import type { IncomingHttpHeaders } from "node:http";
import { Refusal, shortened } from "../../lib/errors.ts";
import { isNumber, isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { CAPABILITIES_KEY, STATELESS, VERSION_KEY, WITH_INITIALIZE } from "../../lib/mcp/protocol.ts";
import { NO_CAPABILITIES, ProtocolError, TASKS, type Capabilities } from "../../mcp/protocol.ts";
import { parseJsonBody } from "../body-format.ts";

export type MessageId = Json;

/** Without `id` it is a notification. */
export type Message = {
  id: MessageId | undefined;
  method: string;
  params: JsonObject;
  isStateless: boolean;
  capabilities: Capabilities;
  progressToken: Json | undefined;
};

/** Throws ProtocolError. `noteId`: told the id as soon as it is known, for the answer that refuses the rest. */
export function readMessage(text: string, headers: IncomingHttpHeaders, noteId: (id: MessageId) => void): Message {
  const body = parse(text);
  if (Array.isArray(body))
    throw new ProtocolError("invalidRequest", "send one message a request: a batch is not taken");
  if (!isObject(body)) throw new ProtocolError("invalidRequest", "the message must be a JSON object");
  const { jsonrpc, id, method, params = {} } = body;
  if (jsonrpc !== "2.0") throw new ProtocolError("invalidRequest", 'jsonrpc must be "2.0"');
  if (id !== undefined) {
    checkId(id, "id");
    noteId(id);
  }
  if (typeof method !== "string") throw new ProtocolError("invalidRequest", "method must be a string");
  if (!isObject(params)) throw new ProtocolError("invalidParams", "params must be an object");
  const meta = params["_meta"] ?? {};
  if (!isObject(meta)) throw new ProtocolError("invalidParams", "params._meta must be an object");
  const { progressToken } = meta;
  if (progressToken !== undefined) checkId(progressToken, "progressToken");
  const isStateless = checkVersion({ id, method }, meta, headers);
  if (isStateless && id !== undefined) checkHeaders(method, params, headers);
  return { id, method, params, isStateless, capabilities: capabilitiesOf(meta), progressToken };
}

function parse(text: string): Json {
  try {
    return parseJsonBody(text);
  } catch (error) {
    throw error instanceof Refusal ? new ProtocolError("parse", error.message) : error;
  }
}

function checkId(id: Json, name: string): void {
  if ((typeof id === "string" || isNumber(id)) && String(id).length <= LIMITS.mcpMessageIdCharacters) return;
  const message = `${name} must be a string or a number of at most ${LIMITS.mcpMessageIdCharacters} characters`;
  throw new ProtocolError("invalidRequest", message);
}

/** Whether the message is of the stateless revision, which says so in its `_meta`; a client that began with `initialize` says it in a header at most. */
function checkVersion(
  { id, method }: { id: Json | undefined; method: string },
  { [VERSION_KEY]: version, [CAPABILITIES_KEY]: capabilities }: JsonObject,
  { "mcp-protocol-version": header }: IncomingHttpHeaders,
): boolean {
  if (version === undefined) {
    if (header === STATELESS && id !== undefined && method !== "initialize")
      throw new ProtocolError("invalidParams", `params._meta needs ${VERSION_KEY} and ${CAPABILITIES_KEY}`);
    if (header !== undefined && header !== STATELESS && !WITH_INITIALIZE.some((known) => known === header))
      throw unsupported(String(header), WITH_INITIALIZE);
    return header === STATELESS;
  }
  if (typeof version !== "string") throw new ProtocolError("invalidParams", `${VERSION_KEY} must be a string`);
  if (id !== undefined && header === undefined)
    throw new ProtocolError("headerMismatch", "the header MCP-Protocol-Version is missing");
  if (header !== undefined && header !== version)
    throw new ProtocolError("headerMismatch", `the header MCP-Protocol-Version differs from ${VERSION_KEY}`);
  if (WITH_INITIALIZE.some((known) => known === version)) return false;
  if (version !== STATELESS) throw unsupported(version, [STATELESS]);
  if (!isObject(capabilities))
    throw new ProtocolError("invalidParams", `${CAPABILITIES_KEY} must be an object in params._meta`);
  return true;
}

const unsupported = (requested: string, supported: readonly string[]): ProtocolError =>
  new ProtocolError("unsupportedVersion", `this server has no revision ${shortened(requested)}`, 400, {
    supported: [...supported],
    requested: shortened(requested),
  });

/** The parameter that `Mcp-Name` repeats, by method. */
const NAMED = new Map([
  ["tools/call", "name"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** Throws ProtocolError: a proxy may have read the headers alone. */
function checkHeaders(
  method: string,
  params: JsonObject,
  { "mcp-method": methodHeader, "mcp-name": nameHeader }: IncomingHttpHeaders,
): void {
  if (methodHeader !== method)
    throw new ProtocolError("headerMismatch", "the header Mcp-Method is missing, or differs from method");
  const name = NAMED.get(method);
  if (name !== undefined && (typeof nameHeader !== "string" || decoded(nameHeader) !== params[name]))
    throw new ProtocolError("headerMismatch", `the header Mcp-Name is missing, or differs from params.${name}`);
}

const BASE64 = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/;

/** A value that no header can carry is written in base64. */
function decoded(header: string): string {
  const match = BASE64.exec(header);
  return match ? Buffer.from(match[1]!, "base64").toString() : header;
}

function capabilitiesOf({ [CAPABILITIES_KEY]: given }: JsonObject): Capabilities {
  if (!isObject(given)) return NO_CAPABILITIES;
  const { extensions, elicitation } = given;
  // Without a mode, forms are meant.
  const hasForms = isObject(elicitation) && (isObject(elicitation["form"]) || Object.keys(elicitation).length === 0);
  return { hasTasks: isObject(extensions) && isObject(extensions[TASKS]), hasForms };
}

/** Whether it stops a run or decides an approval, which begins also when the server is overloaded. */
export const isUrgent = ({ method, params: { name } }: Message): boolean =>
  method === "tasks/cancel" ||
  method === "tasks/update" ||
  (method === "tools/call" && (name === "cancel_run" || name === "decide_approval"));
