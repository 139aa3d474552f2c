/** Messages to `/mcp`. */
import http from "node:http";
import { randomFrom, type Random } from "../faults/random.ts";
import { STATELESS, TASKS } from "../mcp-client.ts";
import { NAUGHTY } from "./naughty.ts";
import { jsonHeaders, send } from "./send.ts";
import type { Kind } from "./trial.ts";
import type { Ids } from "./values.ts";
import type { As } from "./world.ts";

const agent = new http.Agent({ keepAlive: true });

const METHODS = [
  "tools/call",
  "tools/call",
  "tools/list",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
  "server/discover",
];
const OTHERS = ["initialize", "ping", "notifications/cancelled", "subscriptions/listen", "constructor", ""];
/** None of them waits. */
const TOOLS = [
  "test_three",
  "test_approve",
  "test_echo",
  "get_run",
  "cancel_run",
  "signal_run",
  "list_approvals",
  "decide_approval",
  "reassign_approval",
];

export const messages: Kind = {
  name: "message",
  limit: "request",
  make(seed, { ids }) {
    const random = randomFrom(seed);
    const as = random.pick<As>(["stranger", "owner", "owner", "owner", "viewer", "wrong"]);
    const { body, headers } = randomMessage(random, ids);
    return {
      about: `${as} ${JSON.stringify(headers)} ${body}`,
      run: async ({ server, token }) => {
        const all = { path: "/mcp", headers: { ...jsonHeaders(token(as)), ...headers }, body };
        return { answers: [await send({ url: server.url, agent }, all)] };
      },
    };
  },
};

function randomMessage(random: Random, ids: Ids): { body: string; headers: Record<string, string> } {
  const often = (usual: unknown): unknown => (random.next() < 0.9 ? usual : value(random, ids));
  const method = random.next() < 0.85 ? random.pick(METHODS) : random.pick(OTHERS);
  const isStateless = random.next() < 0.5;
  const run = random.pick(ids["run"]!);
  const params: Record<string, unknown> = {
    name: often(random.pick(TOOLS)),
    arguments: often({ [random.pick(["n", "runId", "approvalId", "text"])]: often(run), answer: value(random, ids) }),
    taskId: often(run),
    inputResponses: often({
      [random.pick(ids["approval"]!)]: often({ action: "accept", content: value(random, ids) }),
    }),
    ...(random.next() < 0.2 && { requestState: often(run) }),
    ...(random.next() < 0.2 && { cursor: value(random, ids) }),
    _meta: often({
      ...(random.next() < 0.3 && { progressToken: often(1), "autograph/idempotencyKey": often("k") }),
      ...(isStateless && {
        "io.modelcontextprotocol/protocolVersion": often(STATELESS),
        "io.modelcontextprotocol/clientCapabilities": often({ extensions: { [TASKS]: {} }, elicitation: often({}) }),
      }),
    }),
  };
  const named = method === "tools/call" ? params["name"] : params["taskId"];
  const headers = {
    accept: random.pick(["application/json, text/event-stream", "*/*"]),
    ...(isStateless && { "mcp-protocol-version": STATELESS, "mcp-method": method }),
    ...(typeof named === "string" && { "mcp-name": `=?base64?${Buffer.from(named).toString("base64")}?=` }),
  };
  const message = { jsonrpc: often("2.0"), id: often(1), method: often(method), params: often(params) };
  return { body: JSON.stringify(random.next() < 0.95 ? message : [message]), headers };
}

const value = (random: Random, ids: Ids): unknown =>
  random.pick<() => unknown>([
    () => random.pick([null, true, 0, -1, 1.5, 2 ** 53, [], {}, { a: 1 }, { action: "cancel" }]),
    () => random.pick(NAUGHTY),
    () => "a__".repeat(random.pick([1, 40, 60_000])),
    () => random.pick(ids[random.pick(["run", "agent", "approval"])]!),
    () => Array.from({ length: random.pick([3, 50_000]) }, () => random.between(0, 9)),
    () => Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`k${n}`, { action: "accept" }])),
    () => JSON.parse(`${"[".repeat(400)}${"]".repeat(400)}`),
  ])();
