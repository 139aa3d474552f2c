/** `node(id)`: whatever an id names. */
import { readApiKey } from "../auth/api-keys/api-keys.ts";
import { needsWhole, requireScope } from "../auth/caller.ts";
import { NODE_SCOPES, REACHING_NODES } from "../auth/field-scopes.ts";
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
import { findOrganization, findProject } from "./people/organizations.ts";
import { findRun } from "./runs/runs.ts";
import { findSecret } from "./people/secrets.ts";
import { findSession } from "./people/sessions.ts";
import { findEvent } from "./triggers/events.ts";
import { findFiring } from "./triggers/firings.ts";
import { findStep } from "./runs/steps.ts";
import { findTrigger } from "./triggers/triggers.ts";

type NodeKind = keyof typeof NODE_SCOPES;
type Reader = (context: Context, id: string) => Promise<object>;

const READERS: Record<NodeKind, { type: string; read: Reader }> = {
  organization: { type: "Organization", read: (context, id) => findOrganization(context, idOf("organization", id)) },
  user: {
    type: "User",
    read: async (context, id) =>
      requireFound("user", await readMember(context.auth, callerOf(context).organizationId, idOf("user", id))),
  },
  project: { type: "Project", read: findProject },
  agent: { type: "Agent", read: findAgent },
  agentVersion: { type: "AgentVersion", read: findVersion },
  run: { type: "Run", read: findRun },
  step: { type: "Step", read: findStep },
  approval: { type: "Approval", read: findApproval },
  trigger: { type: "Trigger", read: findTrigger },
  firing: { type: "Firing", read: findFiring },
  event: { type: "Event", read: findEvent },
  secret: { type: "Secret", read: findSecret },
  apiKey: {
    type: "ApiKey",
    read: async (context, id) =>
      requireFound("apiKey", await readApiKey(context.auth, callerOf(context).organizationId, idOf("apiKey", id))),
  },
  member: { type: "Member", read: findMember },
  invitation: { type: "Invitation", read: findInvitation },
  session: { type: "Session", read: findSession },
  auditEvent: { type: "AuditEvent", read: findAuditEvent },
};

const isNodeKind = (kind: ReturnType<typeof kindOfId>): kind is NodeKind =>
  kind !== undefined && Object.hasOwn(READERS, kind);

export function addNode(builder: Builder): void {
  builder.queryField("node", (t) =>
    t.field({
      type: "Node",
      nullable: true,
      description: "The object with this id. NOT_FOUND if there is none.",
      args: { id: t.arg.id({ description: "The id of an object of any type." }) },
      resolve: async (_, { id }, context) => {
        const kind = kindOfId(id);
        if (!isNodeKind(kind)) throw notFound("Node");
        const caller = requireScope(callerOf(context), NODE_SCOPES[kind]);
        if (caller.reach && !REACHING_NODES.has(kind)) throw needsWhole(READERS[kind].type);
        const { type, read } = READERS[kind];
        // graphql-js tells the type by this property.
        return { ...(await read(context, id)), __typename: type };
      },
    }),
  );
}
