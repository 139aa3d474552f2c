import { every } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import { NO_ID, type EventId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { deleteEvents } from "./events/event-store.ts";
import { deleteFirings } from "./firing-store.ts";
import { deleteReplacedTokens } from "./webhooks/token-store.ts";
import type { Triggers } from "./triggers.ts";

const FORGET_EVERY_MS = 600_000;
/** In one statement, so that it is short. */
const AT_ONCE = 5_000;

/** Deletes old firings and events of all organizations, with what came with them, and tokens that were replaced. */
export async function forgetOld(
  { database, clock }: Pick<Triggers, "database" | "clock">,
  signal?: AbortSignal,
): Promise<void> {
  const before = (days: number): number => clock.now() - days * 86_400_000;
  // Those that stay are walked past once, not for each statement.
  let after = NO_ID as EventId;
  const forgetEvents = async (): Promise<number> => {
    const gone = await deleteEvents(database, { before: before(LIMITS.eventDays), after, most: AT_ONCE });
    after = gone.at(-1) ?? after;
    return gone.length;
  };
  const each = [
    () => deleteFirings(database, before(LIMITS.firingDays), AT_ONCE),
    forgetEvents,
    () => deleteReplacedTokens(database, clock.now(), AT_ONCE),
  ];
  for (const forget of each) {
    for (;;) {
      if (signal?.aborted) return;
      if ((await forget()) < AT_ONCE) break;
    }
  }
}

/** Does so every ten minutes. */
export function forgetFirings(triggers: Pick<Triggers, "database" | "clock" | "log">): AsyncDisposable {
  const ending = new AbortController();
  const forget = (): Promise<void> =>
    forgetOld(triggers, ending.signal).catch((error: unknown) =>
      triggers.log.warn({ reason: messageOf(error) }, "old firings were not deleted"),
    );
  let underWay = Promise.resolve();
  const timer = every(triggers.clock, FORGET_EVERY_MS, () => (underWay = underWay.then(forget)));
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      timer[Symbol.dispose]();
      await underWay;
    },
  };
}
