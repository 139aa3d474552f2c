/** Where an organization's requests are counted: in this process on the embedded database, else in the shared database. */
import type { Clock } from "../lib/clock.ts";
import { every } from "../lib/clock.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { createWindow, fits, WINDOW_MS, type Room, type Window } from "./window.ts";

/** After the request was counted, or refused. */
export type Taken = Room & { isTaken: boolean };

export type Windows = {
  /** Counts a request, if there is room for it. */
  take(organizationId: OrganizationId, limit: number): Taken | Promise<Taken>;
  /** The present state, without counting. */
  look(organizationId: OrganizationId, limit: number): Room | Promise<Room>;
} & Disposable;

type MemoryWindows<Owner> = {
  take(owner: Owner, limit: number): Taken;
  look(owner: Owner, limit: number): Room;
  /** How many have a window. */
  readonly size: number;
} & Disposable;

/** Who asked nothing for a minute takes no memory: what is kept is bounded by the requests of the last two. */
export function createMemoryWindows<Owner>(clock: Clock): MemoryWindows<Owner> {
  const windows = new Map<Owner, Window>();
  const forgetting = every(clock, WINDOW_MS, () => {
    const now = clock.now();
    for (const [owner, window] of windows) if (window.isEmpty(now)) windows.delete(owner);
  });

  /** Counts made in another way are worth nothing. */
  const windowOf = (owner: Owner, limit: number): Window | undefined => {
    const window = windows.get(owner);
    return window && fits(window, limit) ? window : undefined;
  };

  const take = (owner: Owner, limit: number): Taken => {
    const now = clock.now();
    let window = windowOf(owner, limit);
    if (!window) windows.set(owner, (window = createWindow(limit)));
    const isTaken = window.take(limit, now);
    return { isTaken, ...window.look(limit, now) };
  };
  return {
    take,
    look: (owner, limit) => (windowOf(owner, limit) ?? createWindow(limit)).look(limit, clock.now()),
    get size() {
      return windows.size;
    },
    [Symbol.dispose]: () => forgetting[Symbol.dispose](),
  };
}
