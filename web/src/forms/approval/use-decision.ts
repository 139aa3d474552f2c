import { useSyncExternalStore } from "react";
import type { Made } from "../../api/decisions.ts";
import { useApi } from "../../api/hooks.ts";

/** The decision made here on an approval that the server has not accepted yet. */
export function useDecision(approvalId: string): Made | undefined {
  const { decisions } = useApi();
  return useSyncExternalStore(decisions.all.watch, () => {
    const made = decisions.of(approvalId);
    return made?.refusal ? undefined : made;
  });
}
