import type { ApprovalId, OrganizationId } from "../../lib/ids.ts";
import type { Database } from "../../storage/database.ts";
import { WHOLE_APPROVAL_COLUMNS, wholeApprovalFromRow } from "./read-rows.ts";
import type { WholeApproval } from "../run/run.ts";

/** With its payloads. */
export async function readWholeApproval(
  database: Database,
  organizationId: OrganizationId,
  id: ApprovalId,
): Promise<WholeApproval | undefined> {
  const [row] = await database.query(
    `select ${WHOLE_APPROVAL_COLUMNS} from approvals where organization_id = $1 and id = $2`,
    [organizationId, id],
    organizationId,
  );
  return row && wholeApprovalFromRow(row);
}
