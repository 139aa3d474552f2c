import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { queueMail } from "../mail/queue-mail.ts";
import type { Query } from "../storage/database.ts";
import type { Invitation } from "./invitation.ts";
import type { Members } from "./members.ts";

type Mailed = Pick<Invitation, "email" | "role"> & { organizationId: OrganizationId; url: string };

/** Queues a mail with the link to the invited e-mail. False: the invitation has none, or `queueMail` refused. */
export async function mailInvitation(
  { mail }: Members,
  query: Query,
  { organizationId, email, role, url }: Mailed,
): Promise<boolean> {
  if (email === null) return false;
  const [organization] = await query("select name from organizations where id = $1", [organizationId]);
  const name = organization!["name"] as string;
  const text = `You are invited to join ${name} on Autograph. Your role there will be: ${role}.

Open this link to accept. It works once, within ${LIMITS.invitationDays} days, for ${email} alone:

${url}

If you did not expect this, ignore it: nothing happens.
`;
  return queueMail(mail, query, {
    organizationId,
    to: email,
    kind: "invitation",
    subject: `Join ${name} on Autograph`,
    text,
  });
}
