/** `node(id)`: whatever an id names. */
import { readApiKey } from "../auth/api-keys.ts";
import { requireScope } from "../auth/caller.ts";
import { NODE_SCOPES } from "../auth/scopes.ts";
import { readMember } from "../auth/users.ts";
import { notFound } from "../lib/errors.ts";
import { kindOfId, type Id, type Kind } from "../lib/ids.ts";
import { findAgent } from "./agents.ts";
import { findApproval } from "./approvals.ts";
import { found, idOf } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { callerOf, type Context } from "./context.ts";
import { findOrganization, findProject } from "./organizations.ts";
import { findRun } from "./runs.ts";

type NodeKind = keyof typeof NODE_SCOPES;
type Reader = (context: Context, id: string) => Promise<{ id: Id<Kind> }>;

const READERS: Record<NodeKind, { type: string; read: Reader }> = {
  organization: { type: "Organization", read: (context, id) => findOrganization(context, idOf("organization", id)) },
  user: {
    type: "User",
    read: async (context, id) =>
      found("user", await readMember(context.auth, callerOf(context).organizationId, idOf("user", id))),
  },
  project: { type: "Project", read: findProject },
  agent: { type: "Agent", read: findAgent },
  run: { type: "Run", read: findRun },
  approval: { type: "Approval", read: findApproval },
  apiKey: {
    type: "ApiKey",
    read: async (context, id) =>
      found("apiKey", await readApiKey(context.auth, callerOf(context).organizationId, idOf("apiKey", id))),
  },
};

const isNodeKind = (kind: Kind | undefined): kind is NodeKind => kind !== undefined && Object.hasOwn(READERS, kind);

export function addNode(builder: Builder): void {
  builder.queryField("node", (t) =>
    t.field({
      type: "Node",
      nullable: true,
      description: "Whatever has this id. NOT_FOUND when nothing has.",
      args: { id: t.arg.id({ description: "A TypeID of any kind." }) },
      resolve: async (_, { id }, context) => {
        const kind = kindOfId(id);
        if (!isNodeKind(kind)) throw notFound("Node");
        requireScope(callerOf(context), NODE_SCOPES[kind]);
        const { type, read } = READERS[kind];
        // graphql-js tells the type by this property.
        return { ...(await read(context, id)), __typename: type };
      },
    }),
  );
}
