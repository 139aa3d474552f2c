/** Inviting people, and becoming a member by a link. */
import { encodeId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { acceptInvitation } from "../../members/accept-invitation.ts";
import type { Invitation } from "../../members/invitation.ts";
import { findByToken, listInvitations, readInvitation, revokeInvitation } from "../../members/invitations.ts";
import { inviteMember } from "../../members/invite-member.ts";
import { idOf, requireFound } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, listById, pageArguments, PAGED } from "../builder/connection.ts";
import { actingOf, callerOf, loginFrom, type Context } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";

export function addInvitations(builder: Builder, enums: Enums): void {
  addInvitation(builder, enums);
  addConnection(builder, "Invitation");
  addPreview(builder, enums);
  addQueries(builder);
  addInvite(builder, enums);
  addRevoke(builder);
  addAccept(builder);
}

function addInvitation(builder: Builder, enums: Enums): void {
  builder.objectType("Invitation", {
    description: "A link that makes the person who accepts it a member of the organization. It works once.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("invitation", id),
        description: "The invitation's id, `invitation_…`.",
      }),
      email: t.exposeString("email", {
        scope: "inherited",
        nullable: true,
        description: "The e-mail address that the invitation is for. Null if anyone who has the link may accept.",
      }),
      role: t.expose("role", { scope: "inherited", type: enums.Role, description: "The new member's role." }),
      createdBy: t.expose("createdBy", {
        scope: "inherited",
        type: "Actor",
        description: "Who created the invitation.",
      }),
      createdAt: t.expose("createdAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the invitation was created.",
      }),
      expiresAt: t.expose("expiresAt", {
        scope: "inherited",
        type: "DateTime",
        description: `When the invitation expires: ${LIMITS.invitationDays} days after it was created.`,
      }),
      url: t.exposeString("url", {
        scope: "inherited",
        nullable: true,
        description: "The link. Only the answer of `inviteMember` has it; everywhere else it is null.",
      }),
      isMailed: t.exposeBoolean("isMailed", {
        scope: "inherited",
        nullable: true,
        description:
          "Whether the link was also mailed to `email`. Only the answer of `inviteMember` has it; everywhere else it is null.",
      }),
    }),
  });
}

function addPreview(builder: Builder, enums: Enums): void {
  builder.objectType("InvitationPreview", {
    description: "What an invitation's link shows before it is used.",
    fields: (t) => ({
      organizationName: t.exposeString("organizationName", {
        scope: "inherited",
        description: "The name of the organization.",
      }),
      email: t.exposeString("email", {
        scope: "inherited",
        nullable: true,
        description: "The e-mail address that the invitation is for. Null if anyone who has the link may accept.",
      }),
      role: t.expose("role", { scope: "inherited", type: enums.Role, description: "The new member's role." }),
      expiresAt: t.expose("expiresAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the invitation expires.",
      }),
    }),
  });
}

const INVITATIONS = listById("invitations", "invitation");

export async function findInvitation(context: Context, id: string): Promise<Invitation> {
  const found = await readInvitation(context.members, callerOf(context), idOf("invitation", id));
  return requireFound("invitation", found);
}

function addQueries(builder: Builder): void {
  builder.queryField("invitations", (t) =>
    t.field({
      scope: "admin",
      narrowedKeys: false,
      type: "InvitationConnection",
      extensions: PAGED,
      description: "The organization's open invitations, newest first.",
      args: pageArguments(builder),
      resolve: (_, page, context) =>
        connect(INVITATIONS, page, (request) => listInvitations(context.members, callerOf(context), request)),
    }),
  );
  builder.queryField("invitation", (t) =>
    t.field({
      scope: "public",
      narrowedKeys: true,
      type: "InvitationPreview",
      nullable: true,
      description:
        "The invitation of a link's token; needs no credential. NOT_FOUND, always in the same words, if the token is wrong, or if the invitation was used, was revoked or has expired.",
      args: { token: t.arg.string({ description: "The part of the link after `#invitation=`." }) },
      resolve: async (_, { token }, context) => (await findByToken(context.members, token)).invitation,
    }),
  );
}

function addInvite(builder: Builder, enums: Enums): void {
  const input = builder.inputType("InviteMemberInput", {
    description: "Input of `inviteMember`.",
    fields: (t) => ({
      email: t.string({
        required: false,
        description: "Only the user with this e-mail address may accept. Default: anyone who has the link.",
      }),
      role: t.field({
        type: enums.Role,
        description: "The new member's role. The caller must have all of the role's scopes.",
      }),
    }),
  });
  builder.mutationField("inviteMember", (t) =>
    t.field({
      scope: "admin",
      narrowedKeys: false,
      type: "Invitation",
      description: `Creates a link that works once, within ${LIMITS.invitationDays} days. Only this answer has its \`url\`. With an \`email\` the link is also mailed, if the server sends mail; \`isMailed\` says so. Only an owner can invite an owner.`,
      args: { input: t.arg({ type: input, description: "Input of `inviteMember`." }) },
      resolve: (_, { input: { email, role } }, context) =>
        inviteMember(context.members, actingOf(context), { email: email ?? undefined, role }),
    }),
  );
}

function addRevoke(builder: Builder): void {
  const input = builder.inputType("RevokeInvitationInput", {
    description: "Input of `revokeInvitation`.",
    fields: (t) => ({ invitationId: t.id({ description: "The invitation's id." }) }),
  });
  builder.mutationField("revokeInvitation", (t) =>
    t.field({
      scope: "admin",
      narrowedKeys: false,
      type: "Invitation",
      description: "Revokes an open invitation for good. NOT_FOUND if it was used or revoked, or has expired.",
      args: { input: t.arg({ type: input, description: "Input of `revokeInvitation`." }) },
      resolve: (_, { input: { invitationId } }, context) =>
        revokeInvitation(context.members, actingOf(context), idOf("invitation", invitationId)),
    }),
  );
}

function addAccept(builder: Builder): void {
  const input = builder.inputType("AcceptInvitationInput", {
    description: "Input of `acceptInvitation`.",
    fields: (t) => ({
      token: t.string({ description: "The part of the link after `#invitation=`." }),
      name: t.string({
        required: false,
        description: `A new user's name, of at most ${LIMITS.nameCharacters} characters. Not allowed with a credential.`,
      }),
      email: t.string({ required: false, description: "The user's e-mail address. Required without a credential." }),
      password: t.string({
        required: false,
        description: `The user's password, or a new user's, of ${LIMITS.passwordCharactersLeast} to ${LIMITS.passwordCharactersMost} characters. Required without a credential.`,
      }),
    }),
  });
  builder.mutationField("acceptInvitation", (t) =>
    t.field({
      scope: "public",
      narrowedKeys: true,
      triesPassword: true,
      type: "LoginResult",
      description:
        "Accepts an invitation and signs in to its organization. With an access token, its user joins. Without a credential, the user with this e-mail and password joins or, with a `name`, a new user does. NOT_FOUND as in `invitation`; wrong passwords are refused as in `login`.",
      args: { input: t.arg({ type: input, description: "Input of `acceptInvitation`." }) },
      resolve: (_, { input: { token, name, email, password } }, context) => {
        const { members, caller } = context;
        return acceptInvitation(
          members,
          caller,
          { token, name: name ?? undefined, email: email ?? undefined, password: password ?? undefined },
          { ...loginFrom(context), client: caller?.credential.kind === "user" ? caller.credential.client : "api" },
        );
      },
    }),
  );
}
