/** A schedule in a few words, as in "Weekdays 08:00"; longer ones have a sentence (pages/agent/triggers/kinds/cron/cron-words.ts). */

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

const isNumber = (field: string): boolean => /^\d+$/.test(field);
const two = (field: string): string => field.padStart(2, "0");

/** Undefined: it takes a sentence to say it. */
export function scheduleWords(schedule: string): string | undefined {
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = schedule.trim().split(/\s+/);
  if (month !== "*") return undefined;
  const every = /^\*\/(\d+)$/.exec(minute)?.[1];
  if (day === "*" && weekday === "*" && hour === "*") {
    if (minute === "*") return "Every minute";
    if (every) return `Every ${every} min`;
    return isNumber(minute) ? `Hourly at :${two(minute)}` : undefined;
  }
  if (!isNumber(minute) || !isNumber(hour)) return undefined;
  const time = `${two(hour)}:${two(minute)}`;
  if (weekday === "*") return day === "*" ? `Daily ${time}` : isNumber(day) ? `Monthly on ${day}, ${time}` : undefined;
  const days = day === "*" ? daysOf(weekday) : undefined;
  return days && `${days} ${time}`;
}

function daysOf(weekday: string): string | undefined {
  if (weekday === "1-5") return "Weekdays";
  const numbers = weekday.split(",").map((one) => {
    const name = DAYS.findIndex((day) => day.toUpperCase() === one.toUpperCase());
    return name >= 0 ? name : isNumber(one) ? Number(one) % 7 : undefined;
  });
  if (numbers.includes(undefined)) return weekday.toUpperCase() === "MON-FRI" ? "Weekdays" : undefined;
  const days = numbers as number[];
  if (days.length === 2 && days.includes(0) && days.includes(6)) return "Weekends";
  return days.map((one) => DAYS[one]).join(", ");
}

/** `Berlin` of `Europe/Berlin`; undefined where that is the reader's own. */
export const zoneWord = (timezone: string, own: string): string | undefined =>
  timezone === own ? undefined : timezone.split("/").at(-1)!.replaceAll("_", " ");
