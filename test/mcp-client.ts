/** Clients of `/mcp`: the official ones of both generations, and one that sends what no official one would. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Scope } from "../server/src/auth/scopes.ts";
import { eventually, type Data } from "./client.ts";
import type { MovedServer } from "./shared-server.ts";

export const STATELESS = "2026-07-28";
export const TASKS = "io.modelcontextprotocol/tasks";
const INFO = { name: "test", version: "1.0.0" };
export const KEY = "autograph/idempotencyKey";

type Server = { url: string };
type Disposed<Of> = Of & AsyncDisposable;

const requestInit = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const disposed = <Of extends { close(): Promise<void> }>(client: Of): Disposed<Of> =>
  Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });

/** The client of the stateless revision. */
export async function connect(
  { url }: Server,
  token: string,
  capabilities: ConstructorParameters<typeof Client>[1] = {},
): Promise<Disposed<Client>> {
  const client = new Client(INFO, { versionNegotiation: { mode: { pin: STATELESS } }, ...capabilities });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: requestInit(token) }));
  return disposed(client);
}

/** The client of the revisions that begin with `initialize`. */
export async function connectOlder({ url }: Server, token: string): Promise<Disposed<OlderClient>> {
  const client = new OlderClient(INFO);
  const transport = new OlderTransport(new URL(`${url}/mcp`), { requestInit: requestInit(token) });
  await client.connect(transport);
  return disposed(client);
}

export type Sent = { status: number; headers: Headers; body: Data };

/** A body as it is. */
export async function send(
  { url }: Server,
  token: string | null,
  body: unknown,
  headers: Record<string, string> = {},
  method = "POST",
): Promise<Sent> {
  const response = await fetch(`${url}/mcp`, {
    method,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(method === "POST" && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}

type Asked = { meta?: object; capabilities?: object; headers?: Record<string, string>; id?: unknown };

/** A request of the stateless revision. */
export function ask(
  server: Server,
  token: string | null,
  method: string,
  params: Record<string, unknown> = {},
  { meta, capabilities = {}, headers, id = 1 }: Asked = {},
): Promise<Sent> {
  const name = params["name"] ?? params["taskId"];
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": capabilities,
    ...meta,
  };
  return send(
    server,
    token,
    { jsonrpc: "2.0", id, method, params: { ...params, _meta } },
    {
      "mcp-protocol-version": STATELESS,
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
      ...headers,
    },
  );
}

/** The same by a client that goes on with tasks, and shows forms. */
export const askWithTasks = (
  server: Server,
  token: string,
  method: string,
  params: Record<string, unknown>,
  more: Asked = {},
): Promise<Sent> =>
  ask(server, token, method, params, {
    capabilities: { extensions: { [TASKS]: {} }, elicitation: { form: {} } },
    ...more,
  });

/** The answer to a call that waits for a run which does not end: its 30 s pass, in steps, as the call is cut after 60 s. */
export async function waited(server: MovedServer, answer: Promise<Sent>): Promise<Sent> {
  let isOver = false;
  void answer.finally(() => (isOver = true)).catch(() => {});
  await eventually(async () => {
    if (!isOver) await server.clock.advance(2_000);
    return isOver;
  });
  return answer;
}

export const MAKE_KEY = "mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { id secret } }";
const SCOPES: Scope[] = ["agents:read", "runs:read", "runs:start", "runs:cancel", "approvals:decide"];

/** A key to these agents alone. */
export const narrowedKey = async (
  server: Pick<MovedServer, "data">,
  agentIds: string[],
  scopes: Scope[] = SCOPES,
): Promise<string> =>
  (await server.data(MAKE_KEY, { input: { name: "narrow", scopes, agentIds } })).createApiKey.secret;
