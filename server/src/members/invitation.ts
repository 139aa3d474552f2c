import type { Actor } from "../lib/actor.ts";
import type { InvitationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Role } from "../storage/schema.ts";
import type { LinkKind } from "./link-token.ts";
import type { Members } from "./members.ts";

export type Invitation = {
  id: InvitationId;
  /** The only user who may accept; null: any holder of the link. */
  email: string | null;
  role: Role;
  createdBy: Actor;
  createdAt: Date;
  expiresAt: Date;
};

export const INVITATION_LIFE_MS = LIMITS.invitationDays * 86_400_000;

export const linksOf = ({ invitationKey }: Members): LinkKind => ({ prefix: "inv_", key: invitationKey });

export const linkOf = ({ url }: Members, token: string): string => `${url}/#invitation=${token}`;
