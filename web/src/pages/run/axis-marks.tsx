/** Above and behind the bars: round times, and what is folded with how long it lasts. */
import type { TimeAxis } from "../../lib/time-axis.ts";
import { durationText, scaleText } from "../../lib/times.ts";
import classes from "./waterfall.module.css";

/** The least share of the axis: labels of narrower ones would lie on each other. */
const LABEL_WIDTH = 0.04;

export const AxisMarks = ({ axis: { folds, ticks } }: { axis: TimeAxis }) => (
  <div className={classes["axis"]} aria-hidden="true">
    {ticks.map(({ at, ms }) => (
      <span key={ms} className={classes["tick"]} style={{ left: `${at * 100}%` }}>
        <span>{scaleText(ms)}</span>
      </span>
    ))}
    {folds.map(({ from, to, at, width }) => (
      <span key={from} className={classes["fold"]} style={{ left: `${at * 100}%`, width: `${width * 100}%` }}>
        {width > LABEL_WIDTH && <span>{durationText(to - from)}</span>}
      </span>
    ))}
  </div>
);
