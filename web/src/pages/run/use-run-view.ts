import { useEffect, useRef, useState } from "react";
import { useClient } from "urql";
import { MoreStepsDocument, RunEventsDocument, type RunPageQuery } from "../../api/documents.ts";
import { isPassing, useApi } from "../../api/hooks.ts";
import { refusalIn, type Refusal } from "../../api/refusal.ts";
import { RunView } from "./run-view.ts";

type Read = NonNullable<RunPageQuery["run"]>;

export const FINAL: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);
/** As run.graphql asks: more would read too many objects at once. */
const OF_A_PAGE = 500;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** `refusal`: why it is followed no longer, or steps are missing. */
type Followed = { view: RunView; refusal: Refusal | undefined; again: () => void };

/** The view of a run that is held up to date while the page is open. */
export function useRunView(run: Read): Followed {
  const [view] = useState(() => new RunView(run, run.steps));
  const [refusal, setRefusal] = useState<Refusal>();
  const { stream } = useApi();
  useEffect(() => {
    if (refusal) return undefined;
    let stop = (): void => {};
    let timer: ReturnType<typeof setTimeout> | undefined;
    let pauseMs = FIRST_PAUSE_MS;
    const follow = (): void => {
      stop = stream(
        RunEventsDocument,
        { runId: view.id, after: view.revision },
        {
          onData: ({ runEvents }) => {
            pauseMs = FIRST_PAUSE_MS;
            view.take(runEvents);
          },
          onEnd: (refused) => {
            view.show();
            if (!refused) return;
            if (!isPassing(refused)) return setRefusal(refused);
            timer = setTimeout(follow, pauseMs);
            pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
          },
        },
      );
    };
    if (!FINAL.has(view.head.get().status)) follow();
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [stream, view, refusal]);
  const rest = useRestOfSteps(view, run.stepCount);
  const again = (): void => {
    setRefusal(undefined);
    rest.again();
  };
  return { view, refusal: refusal ?? rest.refusal, again };
}

/**
 * Page by page, after those that the run was read with: the newest first, which is what somebody looks for in a conversation; then all
 * between. After a refusal on from there.
 */
function useRestOfSteps(view: RunView, stepCount: number): Pick<Followed, "refusal" | "again"> {
  const client = useClient();
  const [refusal, setRefusal] = useState<Refusal>();
  const [places] = useState(() => placesAfter(view.shown.get(), stepCount));
  const left = useRef(places);
  useEffect(() => {
    if (refusal) return undefined;
    const ending = new AbortController();
    const readRest = async (): Promise<void> => {
      const [after, ...others] = left.current;
      if (after === undefined) return;
      // The answer from when the page was open before may have changed since.
      const asked = client.query(MoreStepsDocument, { id: view.id, after }, { requestPolicy: "network-only" });
      const { data, error } = await asked.toPromise();
      if (ending.signal.aborted) return;
      if (error) return setRefusal(refusalIn(error));
      left.current = others;
      view.add(data?.run?.steps ?? []);
      await readRest();
    };
    void readRest();
    return () => ending.abort();
  }, [client, view, refusal]);
  return { refusal, again: () => setRefusal(undefined) };
}

/** The numbers after which pages begin. Steps are numbered without gaps; those that began later come with the stream. */
function placesAfter(first: readonly { number: number }[], stepCount: number): readonly number[] {
  if (first.length < OF_A_PAGE || stepCount <= OF_A_PAGE) return [];
  const newest = Math.max(OF_A_PAGE, stepCount - OF_A_PAGE);
  const between = Array.from({ length: Math.ceil((newest - OF_A_PAGE) / OF_A_PAGE) }, (_, page) => page + 1);
  return [newest, ...between.map((page) => page * OF_A_PAGE)];
}
