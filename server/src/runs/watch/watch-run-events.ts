/** The changes of a run for a subscriber, who misses no final state, and the texts that models write in it. */
import type { RunId } from "../../lib/ids.ts";
import type { Within } from "../../lib/reach.ts";
import { Wakeup, stream } from "../../realtime/stream.ts";
import { runOf, type Change, type Head } from "../../execution/journal/loaded-run.ts";
import { stepFromWrite } from "../../execution/journal/read-rows.ts";
import { isFinal } from "../../execution/run/states.ts";
import type { Run, Step } from "../../execution/run/run.ts";
import { listStepsAfter, readRun } from "../read/read.ts";
import type { Runs } from "../handle/runs.ts";
import { readOr } from "./watch-run.ts";
import { WatchedTexts, type TextDelta } from "./watch-texts.ts";

/**
 * The changes after a revision: each entity in its current state, in order of revision. `textDelta`: more of what a model is
 * writing, with the last revision that was sent.
 */
export type RunEvent = { revision: number; run?: Run; step?: Step; textDelta?: TextDelta };

/** A reader this many commits, or characters of commits, behind is served from the database again. */
const MAX_KEPT = 100;
const MAX_KEPT_CHARACTERS = 256 * 1024;
/** Characters of the ends of texts: commits are one object for all readers, these are each reader's own. */
const MAX_KEPT_TEXT_CHARACTERS = 20 * 1024;
/** Steps read at once: a run has up to 10,000 of them, and 64 MB. */
const MAX_READ = 1_000;

/** A commit without the run's own payloads, which a slow reader does not hold. */
type Commit = { revision: number; head: WeakRef<Head>; steps: Change["steps"] };

/** The changes that a subscriber has not been sent yet, up to a limit. Wakes it with each. */
class Backlog {
  readonly #wakeup: Wakeup;
  #kept: (Commit | TextDelta)[] = [];
  #characters = 0;
  #textCharacters = 0;
  /** The database must be read: something was missed, or there is too much. */
  #isLost = true;

  constructor(wakeup: Wakeup) {
    this.#wakeup = wakeup;
  }

  add(item: Commit | TextDelta): void {
    this.#wakeup.notify();
    if (this.#isLost) return;
    this.#kept.push(item);
    if (isCommit(item)) this.#characters += charactersOf(item.steps);
    else this.#textCharacters += item.text.length;
    const isMuch = this.#characters > MAX_KEPT_CHARACTERS || this.#textCharacters > MAX_KEPT_TEXT_CHARACTERS;
    if (isMuch || this.#kept.length > MAX_KEPT) this.lose();
  }

  lose(): void {
    this.#wakeup.notify();
    this.#isLost = true;
    this.#kept = [];
  }

  get hasMore(): boolean {
    return this.#isLost || this.#kept.length > 0;
  }

  /** Undefined: lost, also if the commits do not follow on the revision that was shown. */
  take(shown: number): (Commit | TextDelta)[] | undefined {
    const kept = this.#isLost ? undefined : this.#kept;
    if (kept?.length === 0) return kept;
    this.#kept = [];
    this.#characters = this.#textCharacters = 0;
    this.#isLost = false;
    return kept && isWhole(kept.filter(isCommit), shown) ? kept : undefined;
  }
}

const isCommit = (item: Commit | TextDelta): item is Commit => "head" in item;

/** `withTexts`: also what models write. */
export async function watchRunEvents(
  runs: Runs,
  within: Within,
  which: { runId: RunId; after: number; withTexts: boolean },
  signal: AbortSignal,
): Promise<AsyncIterableIterator<RunEvent>> {
  const { runId, after, withTexts } = which;
  const wakeup = new Wakeup();
  const backlog = new Backlog(wakeup);
  const sources = new DisposableStack();
  sources.use(
    runs.hub.subscribe(runId, (notice) => {
      if (notice === "changed") return backlog.lose();
      const { head, steps } = notice;
      backlog.add({ revision: head.revision, head: new WeakRef(head), steps });
    }),
  );
  const texts = withTexts ? sources.use(new WatchedTexts(runs, runId, wakeup, (last) => backlog.add(last))) : undefined;
  await readOr(runs, within, runId, sources);
  wakeup.notify();
  return stream(signal, sources, async function* (ended) {
    let shown = after;
    const turn = (): Promise<void> | undefined => runs.executions.rounds.next(within.organizationId);
    while (await wakeup.wait(ended)) {
      const kept = backlog.take(shown);
      const read = kept ? undefined : await readEvents(runs, within, runId, shown);
      let count = 0;
      for (const event of kept ? changesIn(kept) : read!.events) {
        count++;
        if (!event) {
          backlog.lose();
          break;
        }
        if (event.revision !== undefined && event.revision <= shown) continue;
        await turn();
        shown = event.revision ?? shown;
        yield { ...event, revision: shown };
        if (event.run && isFinal(event.run.status)) return;
      }
      // There is more, including what came meanwhile.
      if (count >= MAX_READ && read) backlog.lose();
      // Resumed at or behind the final revision: nothing more will come.
      if (read?.isOver && count === 0) return;
      for (const text of texts?.due() ?? []) {
        // There is seldom anything to wait for, and a wait costs as much as the rest.
        const looking = text.look(turn);
        if (looking) await looking;
        // The end of another text, which this one may follow on.
        if (backlog.hasMore) {
          wakeup.notify();
          break;
        }
        const textDelta = texts!.take(text);
        const waiting = textDelta && turn();
        if (waiting) await waiting;
        if (textDelta) yield { revision: shown, textDelta };
      }
    }
  });
}

/**
 * At most `MAX_READ` steps in order of revision, and the run after the last of them. Reads the run before its steps, so
 * that they include every step up to the run's revision. `isOver`: it had ended then, so that these are the last.
 */
async function readEvents(
  runs: Runs,
  within: Within,
  runId: RunId,
  after: number,
): Promise<{ events: RunEvent[]; isOver: boolean }> {
  const run = await readRun(runs, within, runId);
  if (!run) return { events: [], isOver: true };
  const steps = await listStepsAfter(runs, run, after, MAX_READ);
  const events: RunEvent[] = steps.map((step) => ({ revision: step.revision, step }));
  if (run.revision > after && steps.length < MAX_READ) events.push({ revision: run.revision, run });
  return { events: events.toSorted((a, b) => a.revision - b.revision), isOver: isFinal(run.status) };
}

/** Revisions have no gaps: a commit whose answer was lost sends no notice. */
export function isWhole(changes: readonly Pick<Commit, "revision" | "steps">[], shown: number): boolean {
  let next = shown + 1;
  for (const { revision: last, steps } of changes) {
    for (const { revision } of [...steps, { revision: last }]) {
      if (revision > next) return false;
      next = Math.max(next, revision + 1);
    }
  }
  return true;
}

/** Without `revision`: no change. */
type Shown = Omit<RunEvent, "revision"> & { revision?: number };

const changesIn = (kept: readonly (Commit | TextDelta)[]): Iterable<Shown | undefined> =>
  kept.length === 0 ? [] : kept.values().flatMap(eventsOf);

/** One after the other: a commit may have 10,000 steps. Undefined: left memory while the reader was slow. */
function* eventsOf(item: Commit | TextDelta): Generator<Shown | undefined> {
  if (!isCommit(item)) return yield { textDelta: item };
  const { revision, head: ref, steps } = item;
  for (const step of steps) yield { revision: step.revision, step: stepFromWrite(step) };
  const head = ref.deref();
  yield head && { revision, run: runOf(head) };
}

const charactersOf = (steps: Change["steps"]): number =>
  steps.reduce(
    (sum, { input, output, state }) => sum + (input?.length ?? 0) + (output?.length ?? 0) + (state?.length ?? 0),
    0,
  );
