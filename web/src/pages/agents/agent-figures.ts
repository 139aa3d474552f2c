/** An agent's last runs, in one line. */
import type { AgentRowFragment } from "../../api/documents.ts";

type Runs = Pick<AgentRowFragment["runs"]["nodes"][number], "status">;

/** Among the runs that came to an end by themselves; undefined: none has. */
export function completedOf(runs: readonly Runs[]): { text: string; title: string } | undefined {
  const count = (wanted: Runs["status"]): number => runs.filter(({ status }) => status === wanted).length;
  const completed = count("completed");
  const all = completed + count("failed");
  if (all === 0) return undefined;
  const title = `${completed} of the last ${all} that completed or failed`;
  return { text: `${Math.round((completed / all) * 100)} %`, title };
}
