import { lookOf, type Status } from "../lib/statuses.ts";
import { Icon } from "./icon.tsx";
import classes from "./status-mark.module.css";

/** Shape and word in the status' colour; `isBare`: the word for screen readers alone. */
export function StatusMark({ status, isBare = false }: { status: Status; isBare?: boolean }) {
  const { word, colour, shape, turns } = lookOf(status);
  return (
    <span className={classes["mark"]} style={{ color: colour }} title={isBare ? word : undefined}>
      <Icon shape={shape} className={turns ? classes["turns"] : undefined} />
      <span className={isBare ? "visually-hidden" : undefined}>{word}</span>
    </span>
  );
}
