/** Runs of one `call: assistant`, with a model, an endpoint for its tools and an MCP server on loopback. */
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { Data } from "./client.ts";
import { startEndpoint, type Endpoint } from "./endpoint.ts";
import { startLlmService, type LlmService } from "./llm-service.ts";
import { startStateless, type Served } from "./mcp-servers.ts";
import { runOf } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

const CREATE = "mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";

/** Each is there while a test of the file runs. */
type Places = { server: MovedServer; model: LlmService; endpoint: Endpoint; shop: Served };

export const places = {} as Places;

export function openPlaces(): void {
  beforeAll(async () => {
    const [server, model, endpoint, shop] = await Promise.all([
      movedServer(),
      startLlmService(),
      startEndpoint(),
      startStateless(),
    ]);
    Object.assign(places, { server, model, endpoint, shop });
    await connect("main", { isDefault: true });
  });
  afterAll(async () => {
    for (const one of Object.values(places)) await one[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    const { model, endpoint, shop } = places;
    model.asked.length = shop.asked.length = 0;
    model.think = undefined;
    endpoint.reset();
    endpoint.answer = ok({ id: 7 });
  });
}

/** A model connection of the project. */
export const connect = (name: string, own: object): Promise<Data> => {
  const { server, model } = places;
  const { projectId } = server.world;
  const base = { projectId, name, provider: "openai_compatible", baseUrl: model.url, model: "small", apiKey: "sk-1" };
  return server.data(CREATE, { input: { ...base, ...own } });
};

export const ok = (body: unknown) => ({ headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** `createTicket`, which posts its arguments. */
export const ticket = (more: object = {}) => ({
  http: {
    name: "createTicket",
    description: "Opens a ticket.",
    parameters: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
    call: { method: "post", endpoint: `${places.endpoint.url}/tickets`, body: "${ $arguments }" },
    ...more,
  },
});

export const workOf = (values: object) => ({
  work: { call: "assistant:1.0.0@default", with: { prompt: "${ .question }", ...values } },
});
/** Tries tasks and an assistant `work` after them up to so many times more. */
export const tried = (before: object[], values: object, count: number): string => {
  const retry = { delay: "PT1S", limit: { attempt: { count } } };
  return `do: ${JSON.stringify([{ all: { try: [...before, workOf(values)], catch: { retry } } }])}`;
};
/** A definition of one assistant `work`. */
export const assistant = (values: object): string => `do: ${JSON.stringify([workOf(values)])}`;

export const ask = (values: object): Promise<Data> =>
  runOf(places.server, assistant(values), { question: "Open a ticket" });

export const kindsOf = (run: Data): string[] =>
  run.steps.map(({ kind, name, status }: Data) => `${kind} ${name} ${status}`);
/** The messages of a question to the model. */
const messagesOf = (index: number): Data[] => places.model.asked[index]!.body.messages;
export const rolesOf = (index: number): string[] => messagesOf(index).map(({ role }) => role);
export const lastOf = (index: number): Data => messagesOf(index).at(-1);
