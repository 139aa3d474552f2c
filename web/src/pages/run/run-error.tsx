/** Why a run failed, before all else. */
import { useSyncExternalStore } from "react";
import type { RunHeadFragment } from "../../api/documents.ts";
import { countText } from "../../lib/counts.ts";
import { nameOf } from "./rows.ts";
import type { RunView } from "./run-view.ts";
import type { Change } from "./search.ts";
import { kindOf } from "./step-kinds.ts";
import classes from "./run.module.css";

type Props = {
  error: NonNullable<RunHeadFragment["error"]>;
  view: RunView;
  onShow: (change: Change) => void;
};

export function RunError({ error: { title, detail, status, type, stepNumber }, view, onShow }: Props) {
  const steps = useSyncExternalStore(view.shown.watch, view.shown.get);
  const step = steps.find(({ number }) => number === stepNumber);
  const tries = step?.attemptCount ?? 0;
  const hasResponse = step !== undefined && kindOf(step).hasResponse;
  return (
    <section className={classes["error"]} aria-label="Error">
      <h2>
        {step && `${nameOf(step)} (step ${step.number}${tries > 1 ? `, attempt ${countText(tries)}` : ""}): `}
        {title ?? type.split("/").at(-1)} <span className="dim">{status}</span>
      </h2>
      {detail && <p className={classes["detail"]}>{detail}</p>}
      {step && (
        <button
          type="button"
          className={classes["show"]}
          onClick={() => onShow({ step: step.number, part: hasResponse ? "error" : undefined })}
        >
          {hasResponse ? "Show response" : "Show the step"}
        </button>
      )}
    </section>
  );
}
