/** The steps of a run over time. Only lines that can be seen are in the page. */
import { useEffect, useEffectEvent, useRef, type CSSProperties, type KeyboardEvent } from "react";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useKeys } from "../../lib/use-keys.ts";
import type { TimeAxis } from "../../lib/time-axis.ts";
import { AxisMarks } from "./axis-marks.tsx";
import type { Line } from "./rows.ts";
import { AheadLine, StepLine } from "./step-line.tsx";
import classes from "./waterfall.module.css";

const ROW_PX = matchMedia("(pointer: coarse)").matches ? 44 : 32;
/** Up to this width a step comes from below, as in inspector.module.css. */
const INSPECTED_BELOW_PX = 1_100;

type Props = {
  lines: readonly Line[];
  axis: TimeAxis;
  now: number;
  isOver: boolean;
  isFollowing: boolean;
  chosen: number | undefined;
  said: ReadonlyMap<number, string>;
  onChoose: (number: number) => void;
  onFold: (number: number) => void;
};

export function Waterfall({ lines, axis, now, isOver, isFollowing, chosen, said, onChoose, onFold }: Props) {
  const list = useRef<HTMLDivElement>(null);
  const virtualizer = useWindowVirtualizer({
    count: lines.length,
    estimateSize: () => ROW_PX,
    overscan: 12,
    scrollMargin: list.current?.offsetTop ?? 0,
  });
  const bringIntoSight = useEffectEvent((isSought: (line: Line) => boolean) => {
    const at = lines.findLastIndex(isSought);
    if (at >= 0 && list.current) scrollToLine(list.current, at, chosen !== undefined);
  });
  useEffect(() => {
    if (chosen !== undefined) bringIntoSight((line) => line.kind === "step" && line.step.number === chosen);
  }, [chosen]);
  useEffect(() => {
    if (isFollowing) bringIntoSight((line) => line.kind === "step");
  }, [isFollowing, lines.length]);
  const move = useTreeKeys({ lines, chosen, onChoose, onFold });
  const shown = virtualizer.getVirtualItems().map(({ index, start }) => ({
    line: lines[index]!,
    top: start - virtualizer.options.scrollMargin,
  }));
  const isChosenShown = shown.some(({ line }) => line.kind === "step" && line.step.number === chosen);
  return (
    <div
      ref={list}
      className={classes["list"]}
      role="tree"
      aria-label="Steps"
      tabIndex={0}
      aria-activedescendant={isChosenShown ? `step-${chosen}` : undefined}
      onKeyDown={move}
    >
      <div
        className={classes["lines"]}
        style={{ height: virtualizer.getTotalSize(), "--step": `${ROW_PX}px` } as CSSProperties}
      >
        <AxisMarks axis={axis} />
        {shown.map(({ line, top }) => {
          const placed = { at: line.at, of: isOver ? line.of : undefined, top };
          if (line.kind === "task")
            return <AheadLine key={line.task.path} {...placed} task={line.task} isOver={isOver} />;
          const { step, depth, hasInside, inside } = line;
          const isOpen = step.status === "running" || step.status === "paused";
          return (
            <StepLine
              key={step.number}
              {...placed}
              {...{ step, depth, hasInside, inside, axis, onChoose, onFold }}
              now={isOpen ? now : 0}
              isChosen={step.number === chosen}
              said={said.get(step.number)}
            />
          );
        })}
      </div>
    </div>
  );
}

type Treed = Pick<Props, "lines" | "chosen" | "onChoose" | "onFold">;

/** `j`, `k` and the arrows. Answers what the tree does with its keys. */
function useTreeKeys({ lines, chosen, onChoose, onFold }: Treed): (event: KeyboardEvent) => void {
  /** To the next step that can be seen, or back. */
  const go = (by: 1 | -1): void => {
    const steps = lines.filter((line) => line.kind === "step");
    const at = steps.findIndex(({ step }) => step.number === chosen);
    const next = steps[Math.min(Math.max(at + by, 0), steps.length - 1)];
    if (next) onChoose(next.step.number);
  };
  useKeys({ j: () => go(1), k: () => go(-1) });
  return (event) => {
    const line = lines.find((one) => one.kind === "step" && one.step.number === chosen);
    const isFoldKey = event.key === "ArrowLeft" || event.key === "ArrowRight";
    if (isFoldKey && line?.kind === "step" && line.hasInside) {
      if ((line.inside !== undefined) === (event.key === "ArrowRight")) onFold(line.step.number);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      go(event.key === "ArrowDown" ? 1 : -1);
    }
  };
}

/** Whether it is in the page or not: lines are all as high. */
function scrollToLine(list: HTMLElement, at: number, isInspected: boolean): void {
  const top = list.getBoundingClientRect().top + at * ROW_PX;
  // On a narrow screen the step covers the lower part (inspector.module.css).
  const seen = innerHeight * (isInspected && innerWidth <= INSPECTED_BELOW_PX ? 0.36 : 0.92);
  if (top < 0 || top + ROW_PX > seen) scrollBy(0, top - seen / 2);
}
