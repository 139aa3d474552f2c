/** Calls a trigger's URL, and reads what came of it. */
import { type Data, type ShownError, type TestServer } from "./client.ts";

export type Called = { status: number; headers: Headers; body: Data; errors: ShownError[] | undefined };
export type Webhook = { id: string; name: string; url: string };

export const CREATE =
  "mutation($input: CreateTriggerInput!) { createTrigger(input: $input) { id name url curl configuration policy { deliveryHeader } } }";

/** A webhook of an agent; answers it with its URL. */
export async function webhookOf(
  server: Pick<TestServer, "data">,
  agentId: string,
  more: Record<string, unknown> = {},
  token?: string,
): Promise<Webhook> {
  const input = { agentId, name: "hook", trigger: { type: "webhook" }, ...more };
  return (await server.data(CREATE, { input }, token)).createTrigger;
}

/** `body`: as it is, or an object to send as JSON. */
export async function call(
  url: string,
  body: unknown = {},
  { headers = {}, method = "POST" }: { headers?: Record<string, string>; method?: string } = {},
): Promise<Called> {
  const init = {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(method === "POST" && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  };
  const response = await fetch(url, init);
  const text = await response.text();
  const read: Data = text === "" ? {} : JSON.parse(text);
  return { status: response.status, headers: response.headers, body: read, errors: read.errors };
}

const FIRINGS = `query($id: ID!, $outcome: [FiringOutcome!]) { trigger(id: $id) { firings(first: 100, outcome: $outcome) { nodes {
  id at dueAt outcome code message fields { path code } policy skipped delivery payload run { id status } firedBy { kind } } } } }`;

/** Newest first. */
export const firingsOf = async (
  server: Pick<TestServer, "data">,
  { id }: Pick<Webhook, "id">,
  outcome?: string[],
): Promise<Data[]> => (await server.data(FIRINGS, { id, outcome })).trigger.firings.nodes;
