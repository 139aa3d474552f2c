import type { OrganizationId } from "../lib/ids.ts";
import type { Problem } from "../definition/problem.ts";
import { readChecked, type Agents } from "./agents.ts";

export type Validation = { valid: boolean; problems: Problem[] };

/** Every problem of a definition with its place: path, line and column from 1, one sentence. */
export async function validateDefinition(
  agents: Agents,
  organizationId: OrganizationId,
  { definition }: { definition: string },
): Promise<Validation> {
  const { problems } = await readChecked(agents, organizationId, definition);
  return { valid: problems.length === 0, problems };
}
