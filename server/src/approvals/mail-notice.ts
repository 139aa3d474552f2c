/** Mails those who may decide an approval. Each mail has a link of its own. */
import { takeNotice, type UntoldNotice } from "../events/outbox-store.ts";
import { APPROVAL_COLUMNS, approvalFromRow } from "../execution/journal/read-rows.ts";
import type { Approval } from "../execution/run/run.ts";
import type { UserId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { hashOf, makeToken } from "../members/link-token.ts";
import { queueMail } from "../mail/queue-mail.ts";
import type { Query } from "../storage/database.ts";
import type { Approvals } from "./approvals.ts";
import { writeLetter } from "./letter.ts";
import { linkOf, linksOf } from "./link.ts";
import { insertLink, readAsked, type Holder } from "./link-store.ts";

/**
 * The mails and the end of the notice are one transaction: each person is mailed once, also if the process is killed. Nobody is mailed
 * about a question that is closed.
 */
export async function mailNotice(approvals: Approvals, notice: UntoldNotice): Promise<void> {
  const { organizationId, subjectId } = notice;
  const { runs, auth } = approvals;
  await runs.database.transaction(async (query) => {
    if (!(await takeNotice(query, notice))) return;
    const [row] = await query(`select ${APPROVAL_COLUMNS} from approvals where organization_id = $1 and id = $2`, [
      organizationId,
      subjectId,
    ]);
    const approval = row && approvalFromRow(row);
    if (!approval || !isWaiting(approval, auth.clock.now())) return;
    const names = await readNames(query, approval);
    if (!names) return;
    const { isReminder = false, isAgain = false } = KINDS.get(notice.event) ?? {};
    for (const holder of await readAsked(query, { ...askedOf(approval), isAgain }))
      await mail(approvals, query, approval, { ...names, isReminder }, holder);
  }, organizationId);
}

/** The notices that are not the first one. `isAgain`: those are mailed who have not been. */
const KINDS = new Map<string, { isReminder?: boolean; isAgain?: boolean }>([
  ["mail.reminded", { isReminder: true }],
  ["mail.escalated", { isAgain: true }],
  ["mail.reassigned", { isAgain: true }],
]);

const isWaiting = ({ status, expiresAt }: Approval, now: number): boolean =>
  status === "open" && (expiresAt === null || expiresAt.getTime() > now);

const askedOf = ({
  organizationId,
  id: approvalId,
  assignees,
  excluded,
  decisions,
}: Approval): Omit<Parameters<typeof readAsked>[1], "isAgain"> => {
  const decided = decisions.flatMap(({ by }) => (by.kind === "user" ? [by.id as UserId] : []));
  const except = [...(excluded ?? []), ...decided];
  return { organizationId, approvalId, assignees: assignees ?? [], except, most: LIMITS.approvalMails };
};

type Names = { agent: string; organization: string };
type Naming = Names & { isReminder: boolean };

async function readNames(query: Query, { organizationId, agentId }: Approval): Promise<Names | undefined> {
  const [row] = await query(
    `select a.name as agent, o.name as organization from agents a join organizations o on o.id = a.organization_id
      where a.organization_id = $1 and a.id = $2`,
    [organizationId, agentId],
  );
  return row && { agent: row["agent"], organization: row["organization"] };
}

async function mail(
  approvals: Approvals,
  query: Query,
  { organizationId, id: approvalId, question, quorum, expiresAt }: Approval,
  names: Naming,
  { userId, name, email }: Holder,
): Promise<void> {
  const token = makeToken(linksOf(approvals));
  const link = linkOf(approvals, token);
  const isQueued = await queueMail(approvals.mail, query, {
    organizationId,
    to: email,
    kind: "approval",
    ...writeLetter({ question, ...names, name, expiresAt, quorum, link }),
    ...(expiresAt && { expiresAt: expiresAt.getTime() }),
  });
  if (!isQueued) return;
  const now = approvals.auth.clock.now();
  await insertLink(query, { organizationId, approvalId, userId }, hashOf(token), now);
}
