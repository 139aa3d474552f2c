/** The words of the Model Context Protocol that this server uses: revisions, keys, shapes of messages. */
import type { JsonObject } from "../lib/json/json.ts";

/** Each request says for itself who asks and what its client can. */
export const STATELESS = "2026-07-28";
/** Revisions whose clients begin with `initialize`, the newest first. */
export const WITH_INITIALIZE = ["2025-11-25", "2025-06-18"] as const;

export const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
export const CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities";
export const SERVER_KEY = "io.modelcontextprotocol/serverInfo";
export const TASKS = "io.modelcontextprotocol/tasks";

/** A key of `_meta` that makes a call safe to repeat, as `RunAgentInput.idempotencyKey` does. */
export const IDEMPOTENCY_KEY = "autograph/idempotencyKey";
/** A key of `_meta` with the code and the fields of a refusal. */
export const ERROR_KEY = "autograph/error";

/** JSON-RPC's codes, and those of the protocol. */
export const ERRORS = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  headerMismatch: -32_020,
  missingCapability: -32_021,
  unsupportedVersion: -32_022,
} as const;

/** A message that the protocol itself refuses, with its HTTP status. */
export class ProtocolError extends Error {
  readonly code: number;
  readonly status: number;
  readonly data: JsonObject | undefined;

  constructor(code: keyof typeof ERRORS, message: string, status = 400, data?: JsonObject) {
    super(message);
    this.code = ERRORS[code];
    this.status = status;
    this.data = data;
  }
}

/** A client's capabilities, as far as they matter here. */
export type Capabilities = {
  /** It goes on with a call as a task. */
  hasTasks: boolean;
  /** It shows a person a form. */
  hasForms: boolean;
};

export const NO_CAPABILITIES: Capabilities = { hasTasks: false, hasForms: false };

export type Tool = {
  name: string;
  title: string;
  description: string;
  inputSchema: JsonObject;
  outputSchema?: JsonObject;
  annotations?: JsonObject;
};

/** The result of a tool. `structuredContent` is also its text. */
export type ToolResult = {
  content: { type: "text"; text: string }[];
  structuredContent?: object;
  isError?: boolean;
  _meta?: object;
};
