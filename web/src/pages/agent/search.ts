import type { TriggerType } from "../../api/documents.ts";

/** The tabs of an agent's page, in their order. */
export const AGENT_TABS = ["run", "runs", "triggers", "definition"] as const;
export type AgentTab = (typeof AGENT_TABS)[number];

/** `from`: the run whose input the form begins with; `text`: the sentence that was read. The others are of their tabs. */
export type AgentSearch = {
  tab?: AgentTab;
  from?: string;
  by?: "words";
  text?: string;
  add?: TriggerType;
  /** The id of the trigger that is changed. */
  edit?: string;
  compare?: string;
};
