import { lazy } from "react";
import { createRoute } from "@tanstack/react-router";
import { TRIGGER_TYPES } from "../components/trigger-shapes.ts";
import { AGENT_TABS, type AgentSearch } from "../pages/agent/search.ts";
import { inside } from "./inside.tsx";
import { oneOf, someText } from "./search.ts";

const Agent = lazy(async () => ({ default: (await import("../pages/agent/agent.tsx")).Agent }));

export const agent = createRoute({
  getParentRoute: () => inside,
  path: "/agents/$agentId",
  validateSearch: ({ tab, from, by, text, add, edit, compare }): AgentSearch => ({
    ...oneOf("tab", AGENT_TABS, tab),
    ...someText("from", from),
    ...oneOf("by", ["words"], by),
    ...someText("text", text),
    ...oneOf("add", TRIGGER_TYPES, add),
    ...someText("edit", edit),
    ...someText("compare", compare),
  }),
  component: function AgentRoute() {
    const { agentId } = agent.useParams();
    return <Agent key={agentId} id={agentId} search={agent.useSearch()} />;
  },
});
