import { NO_ID, type EventId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { Loop } from "../lib/loops/loop.ts";
import { deleteEvents } from "../events/event-store.ts";
import { deleteSignals } from "../runs/signal-store.ts";
import { deleteUnheard, forgetListened } from "./listening/listening-store.ts";
import { deleteFirings } from "./store/firing-store.ts";
import { deleteReplacedTokens } from "./webhooks/token-store.ts";
import type { Triggers } from "./triggers.ts";

const FORGET_EVERY_MS = 600_000;
/** In one statement, so that it is short: each may have a payload of 1 MiB. */
const AT_ONCE = 500;
/** Rows of a few bytes. */
const SMALL_AT_ONCE = 10_000;

/**
 * Deletes old firings, events and signals of all organizations, with what came with them, tokens that were replaced, and what steps heard
 * as they ended.
 */
export async function forgetOld(
  { database, clock }: Pick<Triggers, "database" | "clock">,
  goesOn = (): boolean => true,
): Promise<void> {
  const before = (days: number): number => clock.now() - days * 86_400_000;
  // Those that stay are walked past once, not for each statement.
  let after = NO_ID as EventId;
  const forgetEvents = async (): Promise<number> => {
    const gone = await deleteEvents(database, { before: before(LIMITS.eventDays), after, most: AT_ONCE });
    after = gone.at(-1) ?? after;
    return gone.length;
  };
  const many = async (small: Promise<number>): Promise<number> => ((await small) === SMALL_AT_ONCE ? AT_ONCE : 0);
  const each = [
    () => deleteFirings(database, before(LIMITS.firingDays), AT_ONCE),
    forgetEvents,
    () => deleteSignals(database, before(LIMITS.eventDays), AT_ONCE),
    () => deleteReplacedTokens(database, clock.now(), AT_ONCE),
    () => many(forgetListened(database, before(LIMITS.listenedDays), SMALL_AT_ONCE)),
    () => many(deleteUnheard(database, SMALL_AT_ONCE)),
  ];
  for (const forget of each) {
    let gone: number;
    do {
      if (!goesOn()) return;
      gone = await forget();
    } while (gone === AT_ONCE);
  }
}

/** Does so every ten minutes. */
export const forgetFirings = (triggers: Pick<Triggers, "database" | "clock" | "log">): Loop =>
  new Loop({
    ...triggers,
    name: "old-firings",
    everyMs: FORGET_EVERY_MS,
    look: (round) => forgetOld(triggers, () => round.goesOn()),
    failed: "old firings were not deleted",
  }).start(triggers.clock.now() + FORGET_EVERY_MS);
