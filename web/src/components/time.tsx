import { useSyncExternalStore } from "react";
import { Store } from "../lib/store.ts";
import { durationText, exactText, momentText, relativeText } from "../lib/times.ts";

const EVERY_MS = 10_000;
const STALE_MS = 1_000;

/** One clock for all that is shown; it stands while nobody looks. */
class Ticker {
  readonly #now = new Store(Date.now());
  #watchers = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  readonly get = (): number => {
    // It stood while nothing showed a time.
    if (this.#watchers === 0 && Date.now() - this.#now.get() > STALE_MS) this.#now.set(Date.now());
    return this.#now.get();
  };

  readonly watch = (watcher: () => void): (() => void) => {
    const stop = this.#now.watch(watcher);
    this.#watchers++;
    this.#timer ??= setInterval(() => this.#now.set(Date.now()), EVERY_MS);
    return () => {
      stop();
      if (--this.#watchers > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  };
}

const ticker = new Ticker();

/** How long ago it was, with the exact time as its title. `at`: an ISO 8601 time; `isMoment`: the time of day. */
export function Time({ at, isMoment = false }: { at: string; isMoment?: boolean }) {
  const now = useSyncExternalStore(ticker.watch, ticker.get);
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={exactText(ms)}>
      {(isMoment ? momentText : relativeText)(ms, now)}
    </time>
  );
}

/** How long it lasts so far, from `at` on, an ISO 8601 time. */
export function Since({ at }: { at: string }) {
  const now = useSyncExternalStore(ticker.watch, ticker.get);
  return <span className="dim">{durationText(Math.max(0, now - Date.parse(at)))}</span>;
}
