/** Stretches of time that one asks for by name, in the zone of who reads. */

export const PERIODS = { hour: "Last hour", today: "Today", night: "Last night", week: "Last 7 days" } as const;
export type Period = keyof typeof PERIODS;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** `to` is missing where it goes on. Both in ISO 8601. */
export function periodOf(period: Period, now: number): { from: string; to?: string } {
  const day = new Date(now);
  const at = (days: number, hour: number): string =>
    new Date(day.getFullYear(), day.getMonth(), day.getDate() + days, hour).toISOString();
  switch (period) {
    case "hour":
      return { from: new Date(Math.floor(now / MINUTE_MS) * MINUTE_MS - HOUR_MS).toISOString() };
    case "today":
      return { from: at(0, 0) };
    case "night":
      return { from: at(-1, 18), to: at(0, 8) };
    case "week":
      return { from: at(-7, 0) };
  }
}

/** As a field of date and time has it: `2026-11-23T18:00`, in the zone of who reads. */
export function localText(at: string): string {
  const ms = Date.parse(at);
  return new Date(ms - new Date(ms).getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16);
}

/** Undefined for what is no time. */
export function timeOf(local: string): string | undefined {
  const ms = new Date(local).getTime();
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}
