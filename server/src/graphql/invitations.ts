/** Inviting people, and becoming a member by a link. */
import { encodeId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { acceptInvitation } from "../members/accept-invitation.ts";
import type { Invitation } from "../members/invitation.ts";
import { findByToken, listInvitations, readInvitation, revokeInvitation } from "../members/invitations.ts";
import { inviteMember } from "../members/invite-member.ts";
import { idOf, requireFound } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { addConnection, connect, listById, pageArguments, PAGED } from "./connection.ts";
import { actingOf, callerOf, loginFrom, type Context } from "./context.ts";
import type { Enums } from "./enums.ts";

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
    description: "A link that makes whoever opens it a member of the organization, once. It is there until it is used.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({ resolve: ({ id }) => encodeId("invitation", id), description: "The id, `invitation_…`." }),
      email: t.exposeString("email", {
        nullable: true,
        description: "The e-mail that it is for. Null if it is for whoever has the link.",
      }),
      role: t.expose("role", { type: enums.Role, description: "What the new member may do." }),
      createdBy: t.expose("createdBy", { type: "Actor", description: "Who invites." }),
      createdAt: t.expose("createdAt", { type: "DateTime", description: "When the invitation was made." }),
      expiresAt: t.expose("expiresAt", {
        type: "DateTime",
        description: `Until when it may be used: ${LIMITS.invitationDays} days.`,
      }),
      url: t.exposeString("url", {
        nullable: true,
        description: "The link. Only the answer of `inviteMember` has it; everywhere else it is null.",
      }),
    }),
  });
}

function addPreview(builder: Builder, enums: Enums): void {
  builder.objectType("InvitationPreview", {
    description: "What whoever has the link of an invitation may know before they use it.",
    fields: (t) => ({
      organizationName: t.exposeString("organizationName", { description: "The name of the organization." }),
      email: t.exposeString("email", {
        nullable: true,
        description: "The e-mail that it is for. Null if it is for whoever has the link.",
      }),
      role: t.expose("role", { type: enums.Role, description: "What the new member may do." }),
      expiresAt: t.expose("expiresAt", { type: "DateTime", description: "Until when it may be used." }),
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
      type: "InvitationPreview",
      nullable: true,
      description:
        "The invitation behind a link's token; needs no credential. NOT_FOUND, in the same words, if the token is wrong, or the invitation was used or revoked or has expired.",
      args: { token: t.arg.string({ description: "What follows `#invitation=` in the link." }) },
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
        description: "Only the user with this e-mail may accept. Default: whoever has the link.",
      }),
      role: t.field({ type: enums.Role, description: "What the new member may do: none of it may the caller lack." }),
    }),
  });
  builder.mutationField("inviteMember", (t) =>
    t.field({
      type: "Invitation",
      description: `Makes a link that works once, within ${LIMITS.invitationDays} days. Only this answer has its \`url\`; nothing is sent. Only an owner invites an owner.`,
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
      token: t.string({ description: "What follows `#invitation=` in the link." }),
      name: t.string({ required: false, description: "A new user's name. Only without a credential." }),
      email: t.string({ required: false, description: "The user's e-mail. Required without a credential." }),
      password: t.string({
        required: false,
        description: `The user's password, or a new user's: at least ${LIMITS.passwordCharactersLeast} characters. Required without a credential.`,
      }),
    }),
  });
  builder.mutationField("acceptInvitation", (t) =>
    t.field({
      type: "LoginResult",
      description:
        "Uses an invitation up and signs in to its organization. Who sends an access token joins as its user. Without a credential: a user by e-mail and password, or, with a `name`, a new one. NOT_FOUND as in `invitation`; refused passwords as in `login`.",
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
