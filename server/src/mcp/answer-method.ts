/** The table of methods: what each answers. */
import { Refusal, shortened } from "../lib/errors.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { VERSION } from "../lib/version.ts";
import { callAgent, findAgentTool } from "./agent-tools.ts";
import { needScope, type Call, type Mcp } from "./call.ts";
import { listTools } from "./list-tools.ts";
import { STATELESS, WITH_INITIALIZE } from "../lib/mcp/protocol.ts";
import { metaOf, ProtocolError, SERVER_KEY, TASKS, type ToolResult } from "./protocol.ts";
import { callRunTool } from "./run-tools.ts";
import { cancelTask, getTask, updateTask } from "./tasks.ts";
import { isRunTool } from "./tool-name.ts";

const SERVER = { name: "autograph", title: "Autograph", version: VERSION };

const INSTRUCTIONS =
  "Each tool named <project>_<agent> starts a run of that agent. A run that takes longer than the call, or waits for a person, goes on by itself: " +
  "get_run shows how it ends. Do not call the agent again for it.";

/** For how long a client may keep a list: as long as this server keeps what it knows of an agent. */
const LIST_TTL_MS = 5_000;
const DISCOVER_TTL_MS = 3_600_000;

type Method = (mcp: Mcp, call: Call, params: JsonObject) => object | Promise<object>;

/** The methods for clients that begin with `initialize`. */
const OLDER: Record<string, Method> = {
  initialize: (_mcp, _call, { protocolVersion }) => ({
    protocolVersion: WITH_INITIALIZE.find((version) => version === protocolVersion) ?? WITH_INITIALIZE[0],
    capabilities: { tools: {} },
    serverInfo: SERVER,
    instructions: INSTRUCTIONS,
  }),
  ping: () => ({}),
  "tools/list": (mcp, call, { cursor }) => listTools(mcp, call, cursor),
  "tools/call": callTool,
};

const STATELESS_METHODS: Record<string, Method> = {
  "server/discover": () => ({
    supportedVersions: [STATELESS],
    capabilities: { tools: {}, extensions: { [TASKS]: {} } },
    instructions: INSTRUCTIONS,
    ttlMs: DISCOVER_TTL_MS,
    cacheScope: "public",
  }),
  "tools/list": async (mcp, call, { cursor }) => ({
    ...(await listTools(mcp, call, cursor)),
    ttlMs: LIST_TTL_MS,
    cacheScope: "private",
  }),
  "tools/call": callTool,
  "tasks/get": getTask,
  "tasks/update": updateTask,
  "tasks/cancel": cancelTask,
};

const methods = { older: new Map(Object.entries(OLDER)), stateless: new Map(Object.entries(STATELESS_METHODS)) };

/** Throws ProtocolError, and Refusals. */
export async function answerMethod(mcp: Mcp, call: Call, method: string, params: JsonObject): Promise<object> {
  const perform = methods[call.isStateless ? "stateless" : "older"].get(method);
  if (!perform)
    throw new ProtocolError("methodNotFound", `there is no method ${shortened(method)}`, call.isStateless ? 404 : 200);
  const result = await perform(mcp, call, params);
  if (!call.isStateless) return result;
  const meta = "_meta" in result ? (result._meta as object) : {};
  return { resultType: "complete", ...result, _meta: { ...meta, [SERVER_KEY]: SERVER } };
}

/** The codes of refusals that a model can do something about: they are the tool's result. */
const TOLD: ReadonlySet<string> = new Set(["BAD_USER_INPUT", "CONFLICT", "NOT_FOUND"]);

async function callTool(mcp: Mcp, call: Call, params: JsonObject): Promise<object> {
  const { name } = params;
  if (typeof name !== "string") throw new ProtocolError("invalidParams", "name must be a string", 200);
  // Who may start nothing does not learn which agents there are.
  if (!isRunTool(name)) needScope(call, "runs:start");
  const agent = isRunTool(name) ? undefined : await findAgentTool(mcp, call.caller, name);
  if (!isRunTool(name) && !agent)
    throw new ProtocolError("invalidParams", `Unknown tool: ${shortened(name)}`, 200, { code: "NOT_FOUND" });
  try {
    if (isRunTool(name)) return await callRunTool(mcp, call, name, params);
    return await callAgent(mcp, call, agent!, params);
  } catch (error) {
    if (error instanceof Refusal && TOLD.has(error.code)) return refusedResult(error);
    throw error;
  }
}

const refusedResult = (refusal: Refusal): ToolResult => ({
  content: [{ type: "text", text: refusal.message }],
  isError: true,
  _meta: metaOf(refusal),
});
