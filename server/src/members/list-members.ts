/** Members, read. */
import type { Caller } from "../auth/caller.ts";
import type { MemberId, OrganizationId } from "../lib/ids.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../lib/page.ts";
import type { Row } from "../storage/database.ts";
import { userOfMember, type Member } from "./member.ts";
import type { Members } from "./members.ts";

/** The columns of `members m` and `users u`. */
export const COLUMNS = "m.user_id, m.role, m.created_at, u.name";
export const memberOf = (row: Row): Member => ({
  user: { id: row["user_id"], name: row["name"] },
  role: row["role"],
  createdAt: row["created_at"],
});

/** Who joined last comes first. `after`: when somebody joined, in ms, and their id: ids alone are in the order in which people got accounts. */
export async function listMembers({ auth }: Members, caller: Caller, request: PageRequest): Promise<Page<Member>> {
  const { first, after } = checkPage(request);
  const [time, id] = after?.split(" ") ?? [];
  const rows = await auth.database.query(
    `select ${COLUMNS} from members m join users u on u.id = m.user_id
      where m.organization_id = $1 and ($2::timestamptz is null or (m.created_at, m.user_id) < ($2, $3::uuid))
      order by m.created_at desc, m.user_id desc limit $4`,
    [caller.organizationId, time === undefined ? null : new Date(Number(time)), id ?? null, first + 1],
    caller.organizationId,
  );
  return pageOf(rows.map(memberOf), first);
}

export async function readMember(
  { auth }: Members,
  organizationId: OrganizationId,
  id: MemberId,
): Promise<Member | undefined> {
  const [row] = await auth.database.query(
    `select ${COLUMNS} from members m join users u on u.id = m.user_id
      where m.organization_id = $1 and m.user_id = $2`,
    [organizationId, userOfMember(id)],
    organizationId,
  );
  return row && memberOf(row);
}
