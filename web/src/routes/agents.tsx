import { createRoute } from "@tanstack/react-router";
import { AGENT_STATUSES, Agents, type AgentsSearch } from "../pages/agents/agents.tsx";
import { inside } from "./inside.tsx";
import { oneOf, someText } from "./search.ts";

export const agents = createRoute({
  getParentRoute: () => inside,
  path: "/agents",
  validateSearch: ({ status, text }): AgentsSearch => ({
    ...oneOf("status", AGENT_STATUSES, status),
    ...someText("text", text),
  }),
  component: function AgentsRoute() {
    return <Agents search={agents.useSearch()} />;
  },
});
