import { pinOperation as pin } from "../agents/pinned-operations.ts";
import type { ApiOperationName, ReadApiOperation } from "../definition/openapi/operation.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { Refusal } from "../lib/errors.ts";
import type { Head } from "../execution/journal/loaded-run.ts";
import type { Runs } from "./handle/runs.ts";

/** For the run's version. A refusal becomes an error of the workflow. */
export async function pinOperation(
  { agents }: Runs,
  { organizationId, agentId, version }: Head,
  name: ApiOperationName,
  read: ReadApiOperation,
): Promise<string> {
  try {
    return await pin(agents, { organizationId, agentId, version }, name, read);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === "UNAVAILABLE") throw error;
    throw WorkflowError.of("configuration", error.message);
  }
}
