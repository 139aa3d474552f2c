import { useState } from "react";
import { Refusal } from "./refusal.ts";

/** One thing at a time that the server may refuse. */
export function useAct() {
  const [refusal, setRefusal] = useState<Refusal>();
  const [isBusy, setIsBusy] = useState(false);
  /** Returns whether it was done; `onRefused` is told why it was not. */
  const act = async (work: () => Promise<unknown>, onRefused?: (refusal: Refusal) => void): Promise<boolean> => {
    setIsBusy(true);
    setRefusal(undefined);
    try {
      await work();
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setRefusal(error);
      onRefused?.(error);
      return false;
    } finally {
      setIsBusy(false);
    }
  };
  const forget = (): void => setRefusal(undefined);
  return { act, isBusy, refusal, forget };
}
