import { useState } from "react";
import { Button } from "@mantine/core";
import { useQuery } from "urql";
import { CancelRunsDocument, RunsToCancelDocument, type RunFilter, type RunTarget } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { useAct } from "../../api/use-act.ts";
import { OPEN_STATUSES } from "../../lib/statuses.ts";
import { EndInPlace } from "../end-in-place.tsx";
import { Problem } from "../notice.tsx";
import classes from "./runs-table.module.css";

/** Ids that one call takes (`cancelRuns`). */
const OF_A_CALL = 1_000;

export const runsText = (count: number): string => `${count.toLocaleString()} ${count === 1 ? "run" : "runs"}`;

type Props = {
  chosen: readonly string[];
  /** Those of them that have not ended. */
  open: readonly string[];
  /** That of the list, when all that it has shown so far are chosen and it has more. */
  filter: RunFilter | undefined;
  onDone: () => void;
};

/** The commands for the chosen runs, at the foot of the screen wherever the list stands. */
export function CancelChosen({ chosen, open, filter, onDone }: Props) {
  const [isSure, setIsSure] = useState(false);
  const [isAll, setIsAll] = useState(false);
  const matching = useOpenMatching(filter);
  const target: RunTarget[] = isAll && matching ? [{ filter: matching.filter }] : batchesOf(open);
  const count = isAll && matching ? matching.count : open.length;
  const ended = chosen.length - open.length;
  const { cancel, isBusy, refusal, cancelled } = useCancel(target);
  return (
    <div className={classes["chosen"]} role="region" aria-label="Selected runs">
      {refusal && <Problem refusal={refusal} />}
      {cancelled !== undefined ? (
        <>
          <span role="status">
            {runsText(cancelled)} cancelled
            {!isAll && cancelled < count && `, ${(count - cancelled).toLocaleString()} had ended`}
          </span>
          <Button variant="default" size="compact-sm" onClick={onDone}>
            Close
          </Button>
        </>
      ) : (
        <>
          <span className={classes["words"]}>
            {isSure
              ? "Running steps stop. Finished runs are not affected."
              : isAll && matching
                ? `All matching runs are selected: ${matching.about} ${count.toLocaleString()} open`
                : `${chosen.length.toLocaleString()} selected${endedText(ended, open.length)}`}
          </span>
          {!isSure && matching && !isAll && matching.count > open.length && (
            <Button variant="subtle" size="compact-sm" onClick={() => setIsAll(true)}>
              Select all {matching.about} {matching.count.toLocaleString()} matching open runs
            </Button>
          )}
          {count > 0 && (
            <EndInPlace
              word={`Cancel ${isAll && matching?.about ? `${matching.about} ` : ""}${runsText(count)}`}
              keepWord="Keep them"
              size="compact-sm"
              isAsking={isSure}
              isBusy={isBusy}
              onAsk={setIsSure}
              onEnd={() => void cancel()}
            />
          )}
          <Button variant="subtle" size="compact-sm" onClick={onDone}>
            Clear selection
          </Button>
        </>
      )}
    </div>
  );
}

const endedText = (ended: number, open: number): string =>
  ended === 0 ? "" : open === 0 ? (ended === 1 ? ", it has ended" : ", all have ended") : `, ${ended} of them ended`;

const batchesOf = (ids: readonly string[]): RunTarget[] =>
  Array.from({ length: Math.ceil(ids.length / OF_A_CALL) }, (_, batch) => ({
    runIds: ids.slice(batch * OF_A_CALL, (batch + 1) * OF_A_CALL),
  }));

/** The open ones that match, and how many they are. Undefined: none are asked for, or not known yet. */
function useOpenMatching(
  filter: RunFilter | undefined,
): { filter: RunFilter; count: number; about: string } | undefined {
  const asked = filter?.status as readonly string[] | undefined;
  const open = { ...filter, status: OPEN_STATUSES.filter((status) => !asked || asked.includes(status)) };
  const [{ data }] = useQuery({
    query: RunsToCancelDocument,
    variables: { filter: open },
    requestPolicy: "network-only",
    pause: filter === undefined,
  });
  const found = filter && data?.runCount;
  return found ? { filter: open, count: found.value, about: found.isExact ? "" : "about" } : undefined;
}

/** One call after the other, until one is refused. */
function useCancel(targets: readonly RunTarget[]) {
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  const [cancelled, setCancelled] = useState<number>();
  const cancel = async (): Promise<void> => {
    let count = 0;
    const isDone = await act(async () => {
      for (const runs of targets) {
        const { cancelRuns } = await mutate(CancelRunsDocument, { input: { runs } });
        count += cancelRuns?.cancelledCount ?? 0;
      }
    });
    if (isDone) setCancelled(count);
  };
  return { cancel, isBusy, refusal, cancelled };
}
