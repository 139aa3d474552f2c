/** Publishes events, and reads what came of them. */
import type { Answer, Data, TestServer } from "./client.ts";

export type Published = { id: string; source: string; event: string; sourceId: string; time: string; at: string };

export const publishEvent = (server: Pick<TestServer, "graphql">, input: object, token?: string): Promise<Answer> =>
  server.graphql(
    "mutation($input: PublishEventInput!) { publishEvent(input: $input) { id source event sourceId time at } }",
    { input },
    token,
  );

let count = 0;

/** A trigger of an agent. */
export async function eventTriggerOf(
  server: Pick<TestServer, "data">,
  agentId: string,
  trigger: { source: string; event: string; filter?: object },
  more: { policy?: object } = {},
): Promise<{ id: string }> {
  const input = { agentId, name: `event ${++count}`, trigger: { type: "event", ...trigger }, ...more };
  const { createTrigger } = await server.data(
    "mutation($input: CreateTriggerInput!) { createTrigger(input: $input) { id } }",
    { input },
  );
  return createTrigger;
}

/** Newest first. */
export const firingsOfEvent = async (server: Pick<TestServer, "data">, id: string): Promise<Data[]> =>
  (
    await server.data(
      "query($id: ID!) { event(id: $id) { firings(first: 100) { nodes { id outcome code message payload delivery trigger { id } run { id input } event { id } } } } }",
      { id },
    )
  ).event.firings.nodes;
