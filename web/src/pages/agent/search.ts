import type { TriggersSearch } from "./triggers/triggers-tab.tsx";

/** The tabs of an agent's page, in their order. */
export const AGENT_TABS = ["run", "runs", "triggers", "definition"] as const;
export type AgentTab = (typeof AGENT_TABS)[number];

/** `from`: the run whose input the form begins with; `text`: the sentence that was read. The others are of their tabs. */
export type AgentSearch = TriggersSearch & {
  tab?: AgentTab;
  from?: string;
  by?: "words";
  text?: string;
  compare?: string;
};
