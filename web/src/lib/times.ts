/** Times and durations as people read them. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `320 ms`, `1.4 s`, `2 m 05 s`, `3 h 12 m`, `3 d`. */
export function durationText(ms: number): string {
  if (ms < SECOND) return `${Math.max(0, Math.floor(ms))} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} m ${two((ms % MINUTE) / SECOND)} s`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h ${two((ms % HOUR) / MINUTE)} m`;
  return `${Math.floor(ms / DAY)} d`;
}

/** A round time on a scale, exact enough that no two have the same text: `0`, `250 ms`, `10.5 s`, `1 m 30 s`, `2 d 6 h`. */
export function scaleText(ms: number): string {
  if (ms === 0) return "0";
  if (ms < SECOND) return `${ms} ms`;
  if (ms < MINUTE) return `${ms / SECOND} s`;
  const parts = [
    [Math.floor(ms / DAY), "d"],
    [Math.floor((ms % DAY) / HOUR), "h"],
    [Math.floor((ms % HOUR) / MINUTE), "m"],
    [(ms % MINUTE) / SECOND, "s"],
  ] as const;
  return parts.flatMap(([count, unit]) => (count > 0 ? [`${count} ${unit}`] : [])).join(" ");
}

const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");

/** `just now`, `4 min ago`, `in 2 h`, `yesterday` is left to the exact time. */
export function relativeText(at: number, now: number): string {
  const ms = Math.abs(now - at);
  // A clock that is read every few seconds is behind what has just happened.
  if (ms < 45 * SECOND) return at <= now + 15 * SECOND ? "just now" : "in seconds";
  // A time in seven days is in 6.99 a moment later.
  const whole = at <= now ? Math.floor : Math.round;
  const [minutes, hours, days] = [whole(ms / MINUTE), whole(ms / HOUR), whole(ms / DAY)];
  const text = minutes < 60 ? `${Math.max(1, minutes)} min` : hours < 24 ? `${hours} h` : `${days} d`;
  return at <= now ? `${text} ago` : `in ${text}`;
}

/** As schedules have it, and logs. */
const hourCycle = "h23";
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", hourCycle });
const minute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short", hourCycle });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle });

export const exactText = (at: number): string => exact.format(at);
export const minuteText = (at: number): string => minute.format(at);
export const clockText = (at: number): string => clock.format(at);

/** `2026-03-31`, where the reader is. */
export function dayText(at: number): string {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** `14:02:11`, and of another day than today's `31 Mar 2026, 14:02`. */
export const momentText = (at: number, now: number): string =>
  new Date(at).toDateString() === new Date(now).toDateString() ? clock.format(at) : minute.format(at);
