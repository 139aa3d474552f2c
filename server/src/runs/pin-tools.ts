import { pinTools as pin } from "../agents/tools/pin-tools.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { Refusal } from "../lib/errors.ts";
import type { DescribedTools, PinnedDescription } from "../lib/mcp/tool-description.ts";
import type { Head } from "../execution/journal/loaded-run.ts";
import type { Runs } from "./handle/runs.ts";

/** For the run's version. A refusal becomes an error of the workflow. */
export async function pinTools(
  { agents }: Runs,
  { organizationId, agentId, version }: Head,
  server: string,
  described: DescribedTools,
): Promise<Map<string, PinnedDescription>> {
  try {
    return await pin(agents, { organizationId, agentId, version, server }, described);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === "UNAVAILABLE") throw error;
    throw WorkflowError.of("configuration", error.message);
  }
}
