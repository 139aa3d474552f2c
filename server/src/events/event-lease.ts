/** After this, another process takes an event for left behind. */
export const EVENT_LEASE_MS = 30_000;

export const leaseFrom = (now: number): number => now + EVENT_LEASE_MS;
