import { useState, type KeyboardEvent, type PointerEvent } from "react";
import { Link } from "@tanstack/react-router";
import type { RunBarFragment } from "../api/documents.ts";
import { lookOf } from "../lib/statuses.ts";
import { durationText, exactText } from "../lib/times.ts";
import classes from "./run-strip.module.css";

const LEAST = 0.25;

const durationOf = ({ startedAt, createdAt, finishedAt }: RunBarFragment): number =>
  finishedAt ? Date.parse(finishedAt) - Date.parse(startedAt ?? createdAt) : 0;

const countsOf = (runs: readonly RunBarFragment[]): string =>
  [...Map.groupBy(runs, ({ status }) => status)]
    .map(([status, some]) => `${some.length} ${lookOf(status).word}`)
    .join(", ");

function wordsOf(run: RunBarFragment): string {
  const took = run.finishedAt ? `, took ${durationText(durationOf(run))}` : "";
  return `${lookOf(run.status).word}${took}, ${exactText(Date.parse(run.createdAt))}`;
}

/**
 * An agent's last runs as bars, the newest at the right: the height is how long it took beside the others, the colour how it
 * ended. A bar is too thin to be a target of its own, so all are one link: to the bar under the mouse or chosen with the
 * arrow keys, else to the agent's runs.
 */
export function RunStrip({ agentId, runs }: { agentId: string; runs: readonly RunBarFragment[] }) {
  const [chosenId, setChosenId] = useState<string>();
  const bars = runs.toReversed();
  const chosen = bars.find(({ id }) => id === chosenId);
  const longest = Math.max(1, ...runs.map(durationOf));
  const point = ({ target, pointerType }: PointerEvent<HTMLElement>): void => {
    // A finger is wider than five of them.
    if (pointerType !== "touch" && target instanceof Element)
      setChosenId(target.closest<HTMLElement>("[data-run]")?.dataset["run"]);
  };
  const step = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const at = chosen ? bars.indexOf(chosen) + by : bars.length - 1;
    setChosenId(bars[Math.min(Math.max(at, 0), bars.length - 1)]?.id);
  };
  const to = chosen
    ? ({ to: "/runs/$runId", params: { runId: chosen.id }, search: {} } as const)
    : ({ to: "/agents/$agentId", params: { agentId }, search: { tab: "runs" } } as const);
  const leave = (): void => setChosenId(undefined);
  return (
    <>
      <Link
        {...to}
        className={classes["strip"]}
        aria-label={chosen ? `Run: ${wordsOf(chosen)}` : `Last runs: ${countsOf(runs)}`}
        onPointerOver={point}
        onPointerLeave={leave}
        onKeyDown={step}
        onBlur={leave}
      >
        {bars.map((run) => (
          <Bar key={run.id} run={run} longest={longest} isChosen={run === chosen} />
        ))}
      </Link>
      <span role="status" className="visually-hidden">
        {chosen && wordsOf(chosen)}
      </span>
    </>
  );
}

function Bar({ run, longest, isChosen }: { run: RunBarFragment; longest: number; isChosen: boolean }) {
  const share = run.finishedAt ? LEAST + (1 - LEAST) * (durationOf(run) / longest) : 1;
  return (
    <span className={classes["bar"]} data-run={run.id} data-chosen={isChosen || undefined} title={wordsOf(run)}>
      <span
        className={run.finishedAt ? classes["fill"] : classes["open"]}
        style={{ height: `${share * 100}%`, backgroundColor: lookOf(run.status).colour }}
      />
    </span>
  );
}
