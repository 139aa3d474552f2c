/** The steps of a run, and beside them the one that is chosen. Only this is drawn again when steps change. */
import { useCallback, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { Button, SegmentedControl } from "@mantine/core";
import type { StepRowFragment } from "../../api/documents.ts";
import { countText } from "../../lib/counts.ts";
import { useKeys } from "../../lib/use-keys.ts";
import { useNow } from "../../lib/use-now.ts";
import { Beside } from "./beside.tsx";
import { around, foldedAtFirst, linesOf, tasksAhead, type Shown, type Task } from "./rows.ts";
import classes from "./run.module.css";
import type { RunView } from "./run-view.ts";
import { TICK_MS, type Change, type RunSearch } from "./search.ts";
import { isAssistant } from "./turns.ts";
import { useAxis } from "./use-axis.ts";
import { useFollow } from "./use-follow.ts";
import { useWaits } from "./waits.tsx";
import { Waterfall } from "./waterfall.tsx";

/** Fewer lines are seen all at once. */
const FOLLOWED_FROM = 10;

const NONE: readonly StepRowFragment[] = [];

type Props = {
  view: RunView;
  tasks: readonly Task[];
  stepCount: number;
  isOver: boolean;
  search: RunSearch;
  onShow: (change: Change) => void;
  /** The decision at a step, or who is asked there, by its number. */
  said: ReadonlyMap<number, string>;
};

export function Steps({ view, tasks, stepCount, isOver, search, onShow, said }: Props) {
  const steps = useSyncExternalStore(view.shown.watch, view.shown.get);
  const head = useSyncExternalStore(view.head.watch, view.head.get);
  const now = useNow(isOver ? undefined : TICK_MS);
  const chosen = search.step;
  const [folded, fold] = useFolded(steps, chosen);
  const [isFollowing, follow] = useFollow(!isOver);
  const status = search.show ?? "all";
  const isDone = head.status === "completed";
  const lines = useMemo(() => {
    const shown: Shown = { folded, status };
    return linesOf(steps, shown, isDone ? [] : tasksAhead(steps, tasks));
  }, [steps, folded, status, tasks, isDone]);
  const axis = useAxis(head, steps, now);
  const waits = useWaits(view.id, isOver ? NONE : steps);
  const told = useMemo(() => new Map([...waits, ...said]), [waits, said]);
  const choose = useCallback((step: number | undefined) => onShow({ step }), [onShow]);
  const { list, close } = useClose(chosen, choose);
  const chosenStep = steps.find(({ number }) => number === chosen);
  return (
    <div
      className={classes["steps"]}
      data-beside={chosenStep ? "step" : steps.some(isAssistant) ? "conversation" : undefined}
    >
      <section ref={list} aria-label="Steps" className={classes["list"]}>
        <div className={classes["bar"]}>
          <h2>{headOf(steps.length, stepCount)}</h2>
          {!isOver && lines.length > FOLLOWED_FROM && <Follow isFollowing={isFollowing} onFollow={follow} />}
          <Filter status={status} steps={steps} onShow={onShow} />
        </div>
        {lines.length === 0 ? (
          <p className="dim">{status === "all" ? "No step has begun." : "No such step."}</p>
        ) : (
          <Waterfall
            key={status}
            {...{ lines, axis, now, isOver, isFollowing, chosen }}
            said={told}
            onChoose={choose}
            onFold={fold}
          />
        )}
      </section>
      <Beside
        chosen={chosenStep}
        part={search.part}
        runError={head.error}
        {...{ steps, stepCount, view, said, now, onShow }}
        onClose={close}
      />
    </div>
  );
}

type FollowProps = { isFollowing: boolean; onFollow: (isFollowing: boolean) => void };

const Follow = ({ isFollowing, onFollow }: FollowProps) => (
  <Button
    variant={isFollowing ? "light" : "default"}
    size="compact-sm"
    aria-pressed={isFollowing}
    onClick={() => onFollow(!isFollowing)}
  >
    Follow
  </Button>
);

type FilterProps = { status: Shown["status"]; steps: readonly StepRowFragment[]; onShow: Props["onShow"] };

function Filter({ status, steps, onShow }: FilterProps) {
  const failed = useMemo(() => linesOf(steps, { folded: new Set(), status: "failed" }).length, [steps]);
  return (
    <SegmentedControl
      size="xs"
      aria-label="Which steps"
      value={status}
      data={[
        { value: "all", label: "All" },
        { value: "failed", label: failed > 0 ? `Failed ${countText(failed)}` : "Failed" },
        { value: "slow", label: "Slow" },
      ]}
      onChange={(value) => onShow({ show: value === "all" ? undefined : value })}
    />
  );
}

/** Closes the step that is chosen, also by Escape; the tree in `list` has the focus then. */
function useClose(chosen: number | undefined, choose: (step: number | undefined) => void) {
  const list = useRef<HTMLElement>(null);
  const close = (): void => {
    list.current?.querySelector<HTMLElement>("[role=tree]")?.focus({ preventScroll: true });
    choose(undefined);
  };
  useKeys(chosen === undefined ? {} : { Escape: close });
  return { list, close };
}

/** Which steps are folded, and what folds one or unfolds it. */
function useFolded(steps: readonly StepRowFragment[], chosen: number | undefined) {
  const [folded, setFolded] = useState(() => foldedAtFirst(steps, chosen));
  const fold = useCallback(
    (number: number) =>
      setFolded((before) => {
        const next = new Set(before);
        if (!next.delete(number)) next.add(number);
        return next;
      }),
    [],
  );
  // One that is chosen elsewhere, as by "Show the step", may be inside of a folded one.
  const [unfoldedFor, setUnfoldedFor] = useState(chosen);
  if (chosen !== unfoldedFor) {
    setUnfoldedFor(chosen);
    const hiding = around(steps, chosen).filter((number) => folded.has(number));
    if (hiding.length > 0) setFolded(new Set([...folded].filter((number) => !hiding.includes(number))));
  }
  return [folded, fold] as const;
}

const headOf = (read: number, count: number): string =>
  count > read ? `${countText(read)} of ${countText(count)} steps` : read === 1 ? "1 step" : `${countText(read)} steps`;
