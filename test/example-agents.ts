/** The agents of examples/agents, as they are but for where the services that they call are. */
import { readFileSync } from "node:fs";
import path from "node:path";
import type { TestServer } from "./client.ts";

const AGENTS = path.join(import.meta.dirname, "../examples/agents");

/** Services on loopback in place of those that the examples call. */
export type Places = { github: string; wiki: string; shop?: string };

const CREATE_PROJECT = "mutation($input: CreateProjectInput!) { createProject(input: $input) { id } }";
const CONNECT = "mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";
const PUBLISH = "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";

type Server = Pick<TestServer, "data">;

/** The project that their definitions name; answers its id. */
export const createDemo = async ({ data }: Server): Promise<string> =>
  (await data(CREATE_PROJECT, { input: { handle: "demo", name: "Demo" } })).createProject.id;

/** The project's default model, with prices. */
export async function connectModel({ data }: Server, projectId: string, baseUrl: string): Promise<void> {
  const prices = { inputPerMillion: 1, outputPerMillion: 2, currency: "EUR" };
  const own = { name: "small", provider: "openai_compatible", model: "small", isDefault: true };
  await data(CONNECT, { input: { projectId, baseUrl, prices, ...own } });
}

/** Answers the agent's id. */
export async function publishExample(
  { data }: Server,
  projectId: string,
  name: string,
  { github, wiki, shop = "https://petstore3.swagger.io" }: Places,
): Promise<string> {
  const definition = readFileSync(path.join(AGENTS, `${name}.yaml`), "utf8")
    .replaceAll("https://api.github.com", github)
    .replaceAll("https://mcp.deepwiki.com/mcp", wiki)
    .replaceAll("https://petstore3.swagger.io", shop);
  return (await data(PUBLISH, { input: { projectId, definition } })).publishAgent.id;
}
