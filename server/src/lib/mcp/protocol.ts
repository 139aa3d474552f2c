/** The words of the Model Context Protocol that its server (mcp/) and its client (execution/calls/mcp/) share. */

/** Each request says for itself who asks and what its client can. */
export const STATELESS = "2026-07-28";
/** Revisions whose clients begin with `initialize`, the newest first. */
export const WITH_INITIALIZE = ["2025-11-25", "2025-06-18"] as const;

export const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
export const CLIENT_KEY = "io.modelcontextprotocol/clientInfo";
export const CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities";

/** A key of `_meta` that makes a call safe to repeat, as `RunAgentInput.idempotencyKey` does. */
export const IDEMPOTENCY_KEY = "autograph/idempotencyKey";

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

/** Revisions that a server may be asked in. */
export const MCP_REVISIONS = [STATELESS, ...WITH_INITIALIZE] as const;
