/** Tells clients of `/mcp` how to be admitted (RFC 9728). */
import type { IncomingMessage } from "node:http";
import type { Refusal } from "../../lib/errors.ts";
import type { Exchange, Reply } from "../write-response.ts";

export const METADATA_PATH = "/.well-known/oauth-protected-resource";

type Options = { publicUrl: string | undefined };

/** Without a public URL the Host header is one of loopback. */
const baseOf = ({ publicUrl }: Options, { headers: { host = "localhost" } }: IncomingMessage): string =>
  publicUrl ?? `http://${host}`;

const SCOPES = ["agents:read", "runs:start", "runs:read", "runs:cancel", "approvals:decide"];

/** There is no server to get a token from: an API key is made in the web UI. */
export const resourceMetadata = (options: Options, { request }: Exchange): Reply => ({
  status: 200,
  body: {
    resource: `${baseOf(options, request)}/mcp`,
    resource_name: "Autograph",
    bearer_methods_supported: ["header"],
    scopes_supported: SCOPES,
  },
  headers: { "access-control-allow-origin": "*" },
});

/** The value of `WWW-Authenticate` beside a 401, or a 403 for a scope. */
export function challenge(
  options: Options,
  request: IncomingMessage,
  { code, details }: Pick<Refusal, "code" | "details">,
): string {
  const parts = [`resource_metadata="${baseOf(options, request)}${METADATA_PATH}"`];
  if (code === "FORBIDDEN") parts.unshift('error="insufficient_scope"', `scope="${details.scope}"`);
  else if (request.headers.authorization !== undefined) parts.unshift('error="invalid_token"');
  return `Bearer ${parts.join(", ")}`;
}
