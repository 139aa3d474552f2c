/** A line of the waterfall: drawn again only if its step changed. */
import { memo, type CSSProperties } from "react";
import { Link } from "@tanstack/react-router";
import type { StepRowFragment } from "../../api/documents.ts";
import { Icon, SHAPES } from "../../components/icon.tsx";
import { StatusMark } from "../../components/status-mark.tsx";
import { countText } from "../../lib/counts.ts";
import { shortId } from "../../lib/ids.ts";
import { lookOf } from "../../lib/statuses.ts";
import { durationText } from "../../lib/times.ts";
import type { TimeAxis } from "../../lib/time-axis.ts";
import { nameOf, type Inside, type Task } from "./rows.ts";
import { kindOf } from "./step-kinds.ts";
import { spansOf, tookOf } from "./spans.ts";
import { AwaitedEvents } from "./waits.tsx";
import classes from "./waterfall.module.css";

/** Deeper steps are indented this far. */
const DEEPEST = 6;

/** Where a line is among those beside it. While there come more, nobody can say of how many. */
type Placed = { at: number; of: number | undefined; top: number };

const placedProps = ({ at, of, top }: Placed) => ({
  "aria-posinset": at + 1,
  "aria-setsize": of ?? -1,
  style: { transform: `translateY(${top}px)` },
});

type AheadProps = Placed & { task: Task; isOver: boolean };

export const AheadLine = ({ task: { name, kind }, isOver, ...placed }: AheadProps) => (
  <div
    {...placedProps(placed)}
    className={classes["line"]}
    data-ahead
    role="treeitem"
    aria-level={1}
    aria-disabled="true"
  >
    <span className={classes["number"]} />
    {isOver ? <span aria-hidden="true">–</span> : <StatusMark status="pending" isBare />}
    <span className={classes["name"]}>{name}</span>
    <Kind kind={kind} />
    {isOver && <span className={classes["kind"]}>not reached</span>}
  </div>
);

function Kind({ kind, attemptCount = 1 }: { kind: string; attemptCount?: number }) {
  const { shape } = kindOf({ kind });
  return (
    <span className={classes["kind"]}>
      {shape && <Icon shape={shape} size={12} />}
      {kind}
      {attemptCount > 1 && ` ×${countText(attemptCount)}`}
    </span>
  );
}

type StepProps = Placed & {
  step: StepRowFragment;
  depth: number;
  hasInside: boolean;
  inside: Inside | undefined;
  axis: TimeAxis;
  now: number;
  isChosen: boolean;
  said: string | undefined;
  onChoose: (number: number) => void;
  onFold: (number: number) => void;
};

export const StepLine = memo((props: StepProps) => {
  const { step, depth, hasInside, inside, axis, now, isChosen, said, onChoose, onFold } = props;
  const { number, kind, attemptCount } = step;
  const took = tookOf(step, now);
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the tree takes the keys
    <div
      {...placedProps(props)}
      id={`step-${number}`}
      tabIndex={-1}
      role="treeitem"
      aria-level={depth + 1}
      aria-expanded={hasInside ? inside === undefined : undefined}
      aria-selected={isChosen}
      className={classes["line"]}
      onClick={() => onChoose(number)}
    >
      <span className={classes["number"]}>{number}</span>
      <What {...{ step, depth, hasInside, inside, said, onFold }} />
      <Kind kind={kind} attemptCount={attemptCount} />
      <span className={classes["bars"]}>
        <Bars step={step} axis={axis} now={now} />
      </span>
      <span className={classes["took"]}>{took === null ? "" : durationText(took)}</span>
    </div>
  );
});
StepLine.displayName = "StepLine";

type WhatProps = Pick<StepProps, "step" | "depth" | "hasInside" | "inside" | "said" | "onFold">;

/** Its name, indented, with what was said or started by it. */
function What({ step, depth, hasInside, inside, said, onFold }: WhatProps) {
  const { number, status, item, child, finishedAt } = step;
  const isForEvents = kindOf(step).isForEvents === true && finishedAt === null;
  return (
    <span className={classes["what"]} style={{ "--depth": Math.min(depth, DEEPEST) } as CSSProperties}>
      {hasInside && (
        <span
          className={classes["fold-mark"]}
          aria-hidden="true"
          onClick={(event) => {
            event.stopPropagation();
            onFold(number);
          }}
        >
          <Icon shape={inside ? SHAPES.chevronRight : SHAPES.chevron} size={12} />
        </span>
      )}
      <StatusMark status={status} isBare />
      <span className={classes["name"]}>
        {nameOf(step)}
        {item !== null && <span className="dim"> {item}</span>}
      </span>
      {(isForEvents || said) && (
        <span className={classes["said"]}>
          {isForEvents && <AwaitedEvents step={step} />} {said}
        </span>
      )}
      {inside && <Counts inside={inside} />}
      {child && (
        <Link
          to="/runs/$runId"
          params={{ runId: child.id }}
          className={classes["child"]}
          onClick={(event) => event.stopPropagation()}
        >
          <StatusMark status={child.status} isBare /> {shortId(child.id)}
        </Link>
      )}
    </span>
  );
}

/** `items 1–500: 497 ✓ 3 ✕` */
const Counts = ({ inside: { items, counts } }: { inside: Inside }) => (
  <span className={classes["counts"]}>
    {items && (
      <span className={classes["items"]}>
        items {countText(items[0])}–{countText(items[1])}:
      </span>
    )}
    {counts.map(([status, count]) => (
      <span key={status} className={classes["count"]}>
        {countText(count)} <StatusMark status={status} isBare />
      </span>
    ))}
  </span>
);

const Bars = ({ step, axis, now }: Pick<StepProps, "step" | "axis" | "now">) =>
  spansOf(step, now).map(({ number, status, from, to }) => {
    const [left, right] = [axis.place(from), axis.place(to)];
    return (
      <span
        key={number}
        className={classes["bar"]}
        data-status={status}
        style={{
          left: `${left * 100}%`,
          width: `max(2px, ${(right - left) * 100}%)`,
          backgroundColor: lookOf(status).colour,
        }}
      />
    );
  });
