import { useSyncExternalStore } from "react";
import type { Made } from "../../api/decisions.ts";
import { useApi } from "../../api/hooks.ts";

/** What was decided here of an approval, and is not taken yet. */
export function useDecision(approvalId: string): Made | undefined {
  const { decisions } = useApi();
  return useSyncExternalStore(decisions.all.watch, () => {
    const made = decisions.of(approvalId);
    return made?.refusal ? undefined : made;
  });
}
