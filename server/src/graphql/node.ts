/** `node(id)`: the object that an id names. */
import { readApiKey } from "../auth/api-keys/api-keys.ts";
import { needsWhole, requireScope } from "../auth/caller.ts";
import type { Scope } from "../auth/scopes.ts";
import { readMember } from "../auth/accounts/users.ts";
import { notFound } from "../lib/errors.ts";
import { kindOfId } from "../lib/ids.ts";
import { findAuditEvent } from "./people/audit.ts";
import { findVersion } from "./agents/agent-versions.ts";
import { findAgent } from "./agents/agents.ts";
import { findApproval } from "./runs/approvals.ts";
import { requireFound, idOf } from "./context/arguments.ts";
import type { Builder } from "./builder/builder.ts";
import { callerOf, type Context } from "./context/context.ts";
import { findInvitation } from "./people/invitations.ts";
import { findMember } from "./people/members.ts";
import { findModelConnection } from "./people/model-connections.ts";
import { findOrganization, findProject } from "./people/organizations.ts";
import { findRun } from "./runs/runs.ts";
import { findSecret } from "./people/secrets.ts";
import { findSession } from "./people/sessions.ts";
import { findEvent } from "./triggers/events.ts";
import { findFiring } from "./triggers/firings.ts";
import { findStep } from "./runs/steps.ts";
import { findTrigger } from "./triggers/triggers.ts";

type Node = {
  type: string;
  /** Null: any caller who is signed in. */
  scope: Scope | null;
  /** Whether a narrowed API key may ask for it. */
  narrowedKeys: boolean;
  read: (context: Context, id: string) => Promise<object>;
};

/** By the kind that an id's prefix names. */
export const NODES = {
  organization: {
    type: "Organization",
    scope: null,
    narrowedKeys: true,
    read: (context, id) => findOrganization(context, idOf("organization", id)),
  },
  user: {
    type: "User",
    scope: null,
    narrowedKeys: false,
    read: async (context, id) =>
      requireFound("user", await readMember(context.auth, callerOf(context).organizationId, idOf("user", id))),
  },
  project: { type: "Project", scope: "agents:read", narrowedKeys: true, read: findProject },
  agent: { type: "Agent", scope: "agents:read", narrowedKeys: true, read: findAgent },
  agentVersion: { type: "AgentVersion", scope: "agents:read", narrowedKeys: true, read: findVersion },
  run: { type: "Run", scope: "runs:read", narrowedKeys: true, read: findRun },
  step: { type: "Step", scope: "runs:read", narrowedKeys: true, read: findStep },
  approval: { type: "Approval", scope: "runs:read", narrowedKeys: true, read: findApproval },
  trigger: { type: "Trigger", scope: "agents:read", narrowedKeys: true, read: findTrigger },
  firing: { type: "Firing", scope: "runs:read", narrowedKeys: true, read: findFiring },
  event: { type: "Event", scope: "runs:read", narrowedKeys: true, read: findEvent },
  apiKey: {
    type: "ApiKey",
    scope: "admin",
    narrowedKeys: false,
    read: async (context, id) =>
      requireFound("apiKey", await readApiKey(context.auth, callerOf(context).organizationId, idOf("apiKey", id))),
  },
  secret: { type: "Secret", scope: "secrets:write", narrowedKeys: false, read: findSecret },
  modelConnection: { type: "ModelConnection", scope: "agents:read", narrowedKeys: false, read: findModelConnection },
  member: { type: "Member", scope: "agents:read", narrowedKeys: false, read: findMember },
  invitation: { type: "Invitation", scope: "admin", narrowedKeys: false, read: findInvitation },
  session: { type: "Session", scope: null, narrowedKeys: false, read: findSession },
  auditEvent: { type: "AuditEvent", scope: "admin", narrowedKeys: false, read: findAuditEvent },
} as const satisfies Partial<Record<NonNullable<ReturnType<typeof kindOfId>>, Node>>;
type NodeKind = keyof typeof NODES;

const isNodeKind = (kind: ReturnType<typeof kindOfId>): kind is NodeKind =>
  kind !== undefined && Object.hasOwn(NODES, kind);

export function addNode(builder: Builder): void {
  builder.queryField("node", (t) =>
    t.field({
      scope: null,
      narrowedKeys: true,
      type: "Node",
      nullable: true,
      description: "The object with this id. NOT_FOUND if there is none.",
      args: { id: t.arg.id({ description: "The id of an object of any type." }) },
      resolve: async (_, { id }, context) => {
        const kind = kindOfId(id);
        if (!isNodeKind(kind)) throw notFound("Node");
        const { type, scope, narrowedKeys, read }: Node = NODES[kind];
        const caller = requireScope(callerOf(context), scope);
        if (caller.reach && !narrowedKeys) throw needsWhole(type);
        // graphql-js tells the type by this property.
        return { ...(await read(context, id)), __typename: type };
      },
    }),
  );
}
