/** Every scope (docs/api.md), in the words of a form. */
export const SCOPES: readonly { scope: string; does: string }[] = [
  { scope: "agents:read", does: "See agents, projects and members" },
  { scope: "agents:write", does: "Publish, pause and change agents" },
  { scope: "runs:read", does: "See runs, approvals and events" },
  { scope: "runs:start", does: "Start runs" },
  { scope: "runs:cancel", does: "Cancel runs" },
  { scope: "approvals:decide", does: "Decide approvals" },
  { scope: "triggers:write", does: "Create and change triggers" },
  { scope: "events:write", does: "Publish events" },
  { scope: "secrets:write", does: "Set and delete secrets" },
  { scope: "admin", does: "Members, keys, usage and audit" },
];
