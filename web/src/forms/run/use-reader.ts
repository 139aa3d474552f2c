import { useRef, useState } from "react";
import { DraftRunInputDocument } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { useAct } from "../../api/use-act.ts";
import type { Draft } from "./corrections.ts";

/** `agentId`: the one that it is read for; without it, it is found from the text. */
type Sentence = { text: string; agentId: string | undefined };

/** Lets the server read sentences, one at a time; of those sent meanwhile only the newest is read. `draft`: how the last was understood. */
export function useReader(onRead?: (text: string) => void) {
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  const [draft, setDraft] = useState<Draft>();
  const lastRef = useRef<Sentence>(undefined);
  const isReading = useRef(false);
  const next = useRef<Sentence>(undefined);

  const read = async (sentence: Sentence): Promise<void> => {
    // Sent again unchanged: it is being read, or is the next.
    if (isReading.current && isSame(sentence, lastRef.current)) return;
    lastRef.current = sentence;
    if (isReading.current) {
      next.current = sentence;
      return;
    }
    isReading.current = true;
    const isDone = await act(async () => {
      const { timeZone: timezone } = Intl.DateTimeFormat().resolvedOptions();
      const { text, agentId } = sentence;
      const input = { text, timezone, ...(agentId !== undefined && { agentId }) };
      setDraft((await mutate(DraftRunInputDocument, { input })).draftRunInput!);
    }).finally(() => (isReading.current = false));
    const newer = next.current;
    next.current = undefined;
    if (newer) await read(newer);
    else if (isDone) onRead?.(sentence.text);
  };
  return { draft, read, lastRef, isBusy, refusal };
}

const isSame = (one: Sentence, other: Sentence | undefined): boolean =>
  one.text === other?.text && one.agentId === other.agentId;
