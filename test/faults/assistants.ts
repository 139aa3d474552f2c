/**
 * Assistants whose scripts chance has written. A script is in the question of its run, and the model answers by what it reads alone, as
 * models do. So what a run answers depends on its script, and on nothing that happens to the server.
 */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { text } from "node:stream/consumers";
import type { Data, TestServer } from "../client.ts";
import { send, startLlmService, toolCalls, type Asked, type LlmService, type Reply } from "../llm-service.ts";
import { startStateless, type Served } from "../mcp-servers.ts";
import { agentOf } from "../runs.ts";
import type { Random } from "./random.ts";

/** `tool`: its name for the model. `missing` is none. */
type Call = { tool: "note" | "order" | "price" | "helper" | "missing"; title: string; decision?: Decided };
type Decided = "approve" | "change" | "reject";
export type Script = {
  number: number;
  assistant: AssistantName;
  /** The calls that each answer asks for. */
  turns: Call[][];
  /** The decision of a person who is asked for more than a limit. */
  more: "approve" | "reject";
};

const TITLED = {
  type: "object",
  properties: { title: { type: "string" }, decision: { type: "string" } },
  required: ["title"],
};
const ANSWER = { type: "object", properties: { read: { type: "array" } }, required: ["read"] };

/** One for each way in which an assistant ends. */
const ASSISTANTS = {
  plain: {},
  /** Its answer fits only when it is asked for once more. */
  repaired: { schema: ANSWER },
  failing: { limits: { iterations: 2 } },
  answering: { limits: { toolCalls: 3 }, onLimit: "answer" },
  asking: { limits: { iterations: 1, toolCalls: 3 }, onLimit: "ask" },
} as const;
type AssistantName = keyof typeof ASSISTANTS;
export const ASSISTANT_NAMES = Object.keys(ASSISTANTS) as AssistantName[];

const MAX_TURNS = 4;
const MAX_CALLS = 3;

export function randomScript(random: Random, number: number): Script {
  const call = (title: string): Call => {
    const tool = random.pick(["note", "note", "order", "order", "price", "helper", "missing"] as const);
    return { tool, title, ...(tool === "order" && { decision: random.pick(["approve", "change", "reject"]) }) };
  };
  const turns = Array.from({ length: random.between(0, MAX_TURNS) }, (_, turn) =>
    Array.from({ length: random.between(1, MAX_CALLS) }, (__, at) => call(`${number}-${turn}-${at}`)),
  );
  return {
    number,
    assistant: ASSISTANT_NAMES[number % ASSISTANT_NAMES.length]!,
    turns: withHope(turns),
    more: random.pick(["approve", "approve", "reject"]),
  };
}

/** Three answers in a row whose calls name no tool would be the end. */
const withHope = (turns: Call[][]): Call[][] =>
  turns.map((calls) =>
    calls.every(({ tool }) => tool === "missing")
      ? [...calls, { tool: "note", title: `${calls[0]!.title}-too` } as const]
      : calls,
  );

const argumentsOf = (tool: Call["tool"], given: Omit<Call, "tool">): object =>
  tool === "price" ? { id: given.title } : given;

/** The next answer of a model that keeps nothing. */
function replyTo({ body }: Asked): Reply {
  const messages: Data[] = body.messages;
  const { content: question } = messages.find(({ role }) => role === "user");
  const said = messages.filter(({ role }) => role === "assistant").length;
  const [, helped] = /^help with (.*)$/.exec(question) ?? [];
  if (helped !== undefined) return said === 0 ? "It helps." : { helped };
  const { assistant, turns }: Script = JSON.parse(question);
  const turn = turns[said];
  if (turn && body.tools)
    return toolCalls(...turn.map(({ tool, ...given }): [string, object] => [tool, argumentsOf(tool, given)]));
  const read = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  return assistant === "repaired" && said === turns.length ? `${read.length} answers` : { read };
}

/** A call as a model, a tool or a server got it. `body`: what depends on the script alone. */
export type Seen = { key: string; body: string };

/** Told of each call; false: it gets no answer. */
export type Watch = () => boolean;

export type Doubles = {
  /** By the model, the tools and the server, each in the order in which they came. */
  readonly seen: readonly (readonly Seen[])[];
  /** Forgets what was seen. */
  clear(): void;
  /** Answers wait for this. */
  gate: Promise<void>;
  watch: Watch;
  model: LlmService;
  toolUrl: string;
  shop: Served;
} & AsyncDisposable;

/** How long a model thinks: long enough that many runs ask at the same time. */
const THINKING_MS = 60;

export async function startDoubles(): Promise<Doubles> {
  const held = new AsyncDisposableStack();
  const [model, shop] = [held.use(await startLlmService()), held.use(await startStateless())];
  const thought: Seen[] = [];
  const called: Seen[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    called.push({ key: keyIn(request.headers), body });
    if (doubles.watch()) response.setHeader("content-type", "application/json").end(body);
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  held.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  model.think = (asked) => (response) => {
    thought.push({ key: keyIn(asked.headers), body: JSON.stringify(asked.body.messages) });
    const reply = replyTo(asked);
    const say = typeof reply === "function" ? reply : send(typeof reply === "string" ? reply : JSON.stringify(reply));
    void Promise.all([doubles.gate, sleep(THINKING_MS)]).then(() => doubles.watch() && say(response));
  };
  const doubles: Doubles = {
    get seen() {
      const served = shop.asked.map(({ headers, body }) => ({ key: keyIn(headers), body: mcpBody(body) }));
      return [thought, called, served];
    },
    clear() {
      for (const list of [thought, called, shop.asked]) list.length = 0;
    },
    gate: Promise.resolve(),
    watch: () => true,
    model,
    toolUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    shop,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
  return doubles;
}

const keyIn = (headers: IncomingHttpHeaders): string => headers["idempotency-key"] as string;

/** Without the key, which is in it, too. */
function mcpBody(body: string): string {
  const { method, params } = JSON.parse(body);
  return JSON.stringify([method, params.name, params.arguments]);
}

const CONNECT = "mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";

/** Publishes them; answers their ids. */
export async function publishAssistants(
  server: TestServer,
  { model, toolUrl, shop }: Doubles,
): Promise<ReadonlyMap<AssistantName, string>> {
  const { projectId } = server.world;
  const connection = { provider: "openai_compatible", baseUrl: model.url, model: "small", apiKey: "sk-1" };
  await server.data(CONNECT, { input: { projectId, name: "main", isDefault: true, ...connection } });
  const post = { method: "post", endpoint: toolUrl };
  const helper = [
    { note: { call: "http", with: { ...post, body: "${ . }" } } },
    {
      say: {
        call: "llm:1.0.0@default",
        with: {
          prompt: '${ "help with \\(.title)" }',
          schema: { type: "object", properties: { helped: { type: "string" } }, required: ["helped"] },
        },
      },
    },
  ];
  const form = "input: {schema: {document: {type: object, properties: {title: {type: string}}, required: [title]}}}";
  await agentOf(server, `${form}\ndo: ${JSON.stringify(helper)}`, "helper");
  const tool = (name: string, more: object = {}) => ({
    http: { name, description: name, parameters: TITLED, call: { ...post, body: "${ $arguments }" }, ...more },
  });
  const tools = [
    tool("note"),
    tool("order", { approval: true }),
    { agent: { handle: "helper", description: "Helps." } },
    { mcp: { endpoint: shop.url, allow: ["price"] } },
  ];
  const ids = new Map<AssistantName, string>();
  for (const [name, own] of Object.entries(ASSISTANTS)) {
    const values = { prompt: "${ .script }", tools, ...own };
    const work = { call: "assistant:1.0.0@default", with: values };
    ids.set(name as AssistantName, await agentOf(server, `do: ${JSON.stringify([{ work }])}`, name));
  }
  return ids;
}
