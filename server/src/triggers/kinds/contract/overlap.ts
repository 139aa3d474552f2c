/** The fate of a firing while the run of the one before is open. */
import type { JsonObject } from "../../../lib/json/json.ts";
import type { Key, Overlap, Problems } from "./trigger-kind.ts";

const OVERLAPS: readonly Overlap[] = ["skip", "queue", "allow", "cancelPrevious"];

/** The policy's key, for kinds that take it. */
export const OVERLAP_KEY: Key = {
  api: "TriggerOverlap",
  description:
    "What happens to a firing while the run that the trigger started before is still open. Default: `skip` with a schedule, otherwise `allow`.",
};

/** The overlap policy as it is stored. */
export function settleOverlap({ overlap }: JsonObject, problems: Problems): JsonObject {
  if (overlap === undefined) return {};
  if (!OVERLAPS.some((known) => known === overlap))
    problems.add("overlap", "not_a_choice", `must be ${OVERLAPS.slice(0, -1).join(", ")} or ${OVERLAPS.at(-1)}`);
  return { overlap };
}

export const overlapOf = ({ overlap }: JsonObject, usual: Overlap): Overlap =>
  (overlap as Overlap | undefined) ?? usual;
