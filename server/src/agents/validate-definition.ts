import { checkDefinition } from "../definition/check-definition.ts";
import type { OrganizationId } from "../lib/ids.ts";
import type { Problem } from "../definition/problem.ts";
import type { Agents } from "./agents.ts";

export type Validation = { valid: boolean; problems: Problem[] };

/** Every problem of a definition with its place: path, line and column from 1, one sentence. */
export async function validateDefinition(
  agents: Agents,
  organizationId: OrganizationId,
  { definition }: { definition: string },
): Promise<Validation> {
  const { problems } = await checkDefinition(definition, (text) => agents.check(text, organizationId));
  return { valid: problems.length === 0, problems };
}
