/** The words of the Model Context Protocol that this server uses: revisions, keys, shapes of messages. */
import type { Refusal } from "../lib/errors.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { ERRORS } from "../lib/mcp/protocol.ts";

export const SERVER_KEY = "io.modelcontextprotocol/serverInfo";
export const TASKS = "io.modelcontextprotocol/tasks";
/** A key of `_meta` with the code and the fields of a refusal. */
const ERROR_KEY = "autograph/error";

/** The `_meta` of a result that says why something was refused. */
export const metaOf = ({ code, details }: Refusal): object => ({ [ERROR_KEY]: { code, ...details } });

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
