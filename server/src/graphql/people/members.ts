/** The people of the organization: who they are, what they may do, and how they leave. */
import { decodeId, encodeId } from "../../lib/ids.ts";
import { listMembers, readMember } from "../../members/list-members.ts";
import { memberIdOf, type Member } from "../../members/member.ts";
import { leaveOrganization, removeMember } from "../../members/remove-member.ts";
import { setMemberRole } from "../../members/set-member-role.ts";
import { idOf, requireFound } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, pageArguments, PAGED } from "../builder/connection.ts";
import { actingOf, callerOf, type Context } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";
import type { List } from "../builder/objects.ts";

export function addMembers(builder: Builder, enums: Enums): void {
  addMember(builder, enums);
  addConnection(builder, "Member");
  addQuery(builder);
  addSetRole(builder, enums);
  addRemove(builder);
}

function addMember(builder: Builder, enums: Enums): void {
  builder.objectType("Member", {
    description: "A person in the organization.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: (member) => encodeId("member", memberIdOf(member)),
        description: "The member's id, `member_…`.",
      }),
      user: t.expose("user", { scope: "inherited", type: "User", description: "The person." }),
      role: t.expose("role", { scope: "inherited", type: enums.Role, description: "The member's role." }),
      createdAt: t.expose("createdAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the person joined the organization.",
      }),
    }),
  });
}

export async function findMember(context: Context, id: string): Promise<Member> {
  const { organizationId } = callerOf(context);
  return requireFound("member", await readMember(context.members, organizationId, idOf("member", id)));
}

/** When somebody joined, in ms, and who: 13 digits until the year 2286. */
const PLACE = /^(\d{1,15}) (member_\w{26})$/;

const MEMBERS: List<Member> = {
  name: "members",
  write: (member) => `${member.createdAt.getTime()} ${encodeId("member", memberIdOf(member))}`,
  read: (key) => {
    const [, time, text] = PLACE.exec(key) ?? [];
    const id = text === undefined ? undefined : decodeId("member", text);
    return id && `${time} ${id}`;
  },
};

function addQuery(builder: Builder): void {
  builder.queryField("members", (t) =>
    t.field({
      scope: "agents:read",
      narrowedKeys: false,
      type: "MemberConnection",
      extensions: PAGED,
      description: "The organization's members, newest first.",
      args: pageArguments(builder),
      resolve: (_, page, context) =>
        connect(MEMBERS, page, (request) => listMembers(context.members, callerOf(context), request)),
    }),
  );
}

function addSetRole(builder: Builder, enums: Enums): void {
  const input = builder.inputType("SetMemberRoleInput", {
    description: "Input of `setMemberRole`.",
    fields: (t) => ({
      memberId: t.id({ description: "The member's id." }),
      role: t.field({ type: enums.Role, description: "The member's new role." }),
    }),
  });
  builder.mutationField("setMemberRole", (t) =>
    t.field({
      scope: "admin",
      narrowedKeys: false,
      type: "Member",
      description:
        "Changes a member's role. Only an owner can make somebody an owner or change an owner's role, and nobody can grant a scope that they lack. CONFLICT for the last owner.",
      args: { input: t.arg({ type: input, description: "Input of `setMemberRole`." }) },
      resolve: (_, { input: { memberId, role } }, context) =>
        setMemberRole(context.members, actingOf(context), { memberId: idOf("member", memberId), role }),
    }),
  );
}

function addRemove(builder: Builder): void {
  const input = builder.inputType("RemoveMemberInput", {
    description: "Input of `removeMember`.",
    fields: (t) => ({ memberId: t.id({ description: "The member's id." }) }),
  });
  builder.mutationField("removeMember", (t) =>
    t.field({
      scope: "admin",
      narrowedKeys: false,
      type: "Member",
      description:
        "Removes a member from the organization; their subscriptions and waits there end within 10 seconds. Returns the member as they were. Only an owner can remove an owner. CONFLICT for the last owner.",
      args: { input: t.arg({ type: input, description: "Input of `removeMember`." }) },
      resolve: (_, { input: { memberId } }, context) =>
        removeMember(context.members, actingOf(context), idOf("member", memberId)),
    }),
  );
  builder.mutationField("leaveOrganization", (t) =>
    t.field({
      scope: null,
      narrowedKeys: false,
      type: "Organization",
      description:
        "Ends the signed-in user's membership in the organization. Returns the organization that was left. `refreshToken` moves the session to another organization. CONFLICT for the last owner.",
      resolve: (_, _arguments, context) => leaveOrganization(context.members, actingOf(context)),
    }),
  );
}
