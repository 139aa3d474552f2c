import type { TestServer } from "../client.ts";
import type { World } from "../server.ts";

/** Requests to a server with the key of a world that is not the server's own. */
export const askedAs = (server: TestServer, world: World): Pick<TestServer, "data" | "graphql" | "world"> => ({
  world,
  data: (query, variables, token = world.apiKey) => server.data(query, variables, token),
  graphql: (query, variables, token = world.apiKey) => server.graphql(query, variables, token),
});
