/** The usual purposes of API keys, so that nobody has to put the scopes together. */
import { ALL_SCOPES, type Scope } from "../scopes.ts";

export type ApiKeyPreset = {
  id: string;
  title: string;
  description: string;
  scopes: readonly Scope[];
  /** Whether it is meant for a key that is narrowed to agents. */
  needsAgent: boolean;
};

export const API_KEY_PRESETS = [
  {
    id: "everything",
    title: "Everything",
    description:
      "All that an admin may do through the API, API keys included. For your own scripts on machines that you trust.",
    scopes: ALL_SCOPES,
    needsAgent: false,
  },
  {
    id: "run-agent",
    title: "Run this agent only",
    description:
      "Starts runs of the chosen agents and reads them. Sees no other agent. For a program that uses an agent.",
    scopes: ["agents:read", "runs:read", "runs:start"],
    needsAgent: true,
  },
  {
    id: "read-only",
    title: "Read only",
    description: "Reads agents, runs and approvals and changes nothing. For dashboards and reports.",
    scopes: ["agents:read", "runs:read"],
    needsAgent: false,
  },
  {
    id: "ci-publish",
    title: "CI: publish",
    description:
      "Checks and publishes definitions with their triggers, creates agents and projects. Starts runs only by triggers; sees the URLs of webhooks. For a pipeline.",
    scopes: ["agents:read", "agents:write", "triggers:write"],
    needsAgent: false,
  },
  {
    id: "webhook-sender",
    title: "Webhook sender",
    description:
      "Starts runs of the chosen agents and reads nothing but the runs that it starts. For another system that calls an agent.",
    scopes: ["runs:start"],
    needsAgent: true,
  },
] as const satisfies readonly ApiKeyPreset[];
