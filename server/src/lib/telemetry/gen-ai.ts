/**
 * OpenTelemetry's names for calls of models and of tools: its conventions for generative AI and for MCP, as of 1.41. They are still
 * in development, so this file alone has them. Figures use them, and traces will.
 */

/** `gen_ai.operation.name`. A span is called `chat <model>`, `execute_tool <tool>` or `invoke_agent <agent>`. */
export const OPERATIONS = { model: "chat", tool: "execute_tool", agent: "invoke_agent" } as const;

/** `gen_ai.provider.name` for the provider of a model connection. `openai_compatible` is anybody's, so it keeps our name. */
export const PROVIDER_NAMES = {
  openai_compatible: "openai_compatible",
  openai: "openai",
  anthropic: "anthropic",
  google: "gcp.gemini",
  mistral: "mistral_ai",
} as const;

/** Attributes of a call of a model. */
export const MODEL_ATTRIBUTES = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  conversation: "gen_ai.conversation.id",
  outputType: "gen_ai.output.type",
  model: "gen_ai.request.model",
  temperature: "gen_ai.request.temperature",
  maxTokens: "gen_ai.request.max_tokens",
  seed: "gen_ai.request.seed",
  answeringModel: "gen_ai.response.model",
  finishReasons: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  cachedInputTokens: "gen_ai.usage.cache_read.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  error: "error.type",
} as const;

/** Attributes of a call of a tool; those of `mcp` only where its server speaks MCP. */
export const TOOL_ATTRIBUTES = {
  operation: "gen_ai.operation.name",
  tool: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  call: "gen_ai.tool.call.id",
  method: "mcp.method.name",
  revision: "mcp.protocol.version",
  session: "mcp.session.id",
  transport: "network.transport",
  error: "error.type",
} as const;

/** The kind of tokens that are counted. */
export const TOKEN_TYPE = "gen_ai.token.type";

/** Histograms, with the unit as Prometheus has it and the bounds that the conventions want. */
export const TOKENS = {
  name: "gen_ai.client.token.usage",
  bounds: Array.from({ length: 14 }, (_, power) => 4 ** power),
};
export const SECONDS = {
  name: "gen_ai.client.operation.duration.seconds",
  bounds: Array.from({ length: 14 }, (_, power) => 2 ** power / 100),
};

/** The same of a call of an MCP server, with the session that it may need. */
export const MCP_SECONDS = {
  name: "mcp.client.operation.duration.seconds",
  bounds: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
};
/** `error.type` where the tool itself said that it failed. */
export const MCP_TOOL_ERROR = "tool_error";
/** `network.transport`: over HTTP, and to a command. */
export const TRANSPORTS = { http: "tcp", stdio: "pipe" } as const;

/** Prometheus has no dots in names. */
export const inPrometheus = (name: string): string => name.replaceAll(".", "_");
