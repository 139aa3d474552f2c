/** The changes of an organization, for one subscription: each entity at most once in 250 ms. */
import { until, type Clock } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Rounds } from "../fairness/rounds.ts";
import type { Feeds } from "./feed.ts";
import type { Notices } from "./notices.ts";
import { Wakeup, stream } from "./stream.ts";

const UPDATE_MS = 250;

/** The needs of a subscription besides its feed. `rounds`: whose turn the main thread is. */
export type FeedWatching = {
  notices: Pick<Notices, "onMissed">;
  clock: Clock;
  rounds: Pick<Rounds<OrganizationId>, "next">;
};

export type Watched<Message, Shown> = {
  /** False if it is already known that it will not be shown. */
  fits: (message: Message) => boolean;
  show: (message: Message) => Promise<Shown | undefined>;
};

/** The changes of a feed from now on. */
export function watchFeed<Message, Shown>(
  { notices, clock, rounds }: FeedWatching,
  feeds: Feeds<Message>,
  organizationId: OrganizationId,
  signal: AbortSignal,
  { fits: mayFit, show }: Watched<Message, Shown>,
): AsyncIterableIterator<Shown> {
  const wakeup = new Wakeup();
  let ending: Refusal | undefined;
  const sources = new DisposableStack();
  const endWith = (reason: Refusal): void => {
    ending = reason;
    sources.dispose();
    wakeup.notify();
  };
  const reader = sources.use(
    feeds.open(organizationId, { notify: () => wakeup.notify(), lose: () => endWith(tooSlow()) }),
  );
  // Changes made meanwhile are unknown.
  sources.use(notices.onMissed(() => endWith(missed())));
  /** 250 subscriptions with 3,000 changes each held the thread for 1.5 s at a stretch. */
  const turn = (): Promise<void> | undefined => rounds.next(organizationId);
  return stream(signal, sources, async function* (ended) {
    while (await wakeup.wait(ended)) {
      await turn();
      // An entity that changes again meanwhile goes to the end, for the next round.
      for (const message of reader.round()) {
        if (ending) break;
        const shown = mayFit(message) ? await show(message) : undefined;
        if (shown === undefined) continue;
        await turn();
        yield shown;
      }
      if (ending) throw ending;
      await until(clock, clock.now() + UPDATE_MS, ended).catch(() => {});
    }
  });
}

const again = (why: string): Refusal =>
  new Refusal("UNAVAILABLE", `${why}: subscribe again, then read the list`, { retryAfter: 1 });

const tooSlow = (): Refusal => again(`more than ${LIMITS.changesWaiting} changes wait to be read`);
const missed = (): Refusal => again("changes that another process made may have been missed");
