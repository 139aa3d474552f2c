/** How often each organization may do something in a minute. */
import type { Clock } from "../lib/clock.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { createWindow, WINDOW_MS, type Window } from "../rates/window.ts";

export class Often {
  readonly #clock: Clock;
  readonly #most: number;
  #forgotAt = 0;
  readonly #windows = new Map<OrganizationId, Window>();

  constructor(clock: Clock, mostPerMinute: number) {
    this.#clock = clock;
    this.#most = mostPerMinute;
  }

  /** Counts one and returns 0, or returns in how many ms there is room again. */
  take(organizationId: OrganizationId): number {
    const now = this.#clock.now();
    let window = this.#windows.get(organizationId);
    if (!window) {
      this.#forget(now);
      this.#windows.set(organizationId, (window = createWindow(this.#most)));
    }
    return window.take(this.#most, now) ? 0 : window.look(this.#most, now).resetMs;
  }

  /** Once a minute at most: many organizations may come for the first time. */
  #forget(now: number): void {
    if (Math.abs(now - this.#forgotAt) < WINDOW_MS) return;
    this.#forgotAt = now;
    for (const [id, one] of this.#windows) if (one.isEmpty(now)) this.#windows.delete(id);
  }
}
