import cronstrue from "cronstrue";

/** A schedule as a sentence; as it is written if it is no schedule. */
export function cronWords(schedule: string): string {
  try {
    return cronstrue.toString(schedule, { use24HourTimeFormat: true });
  } catch {
    return schedule;
  }
}
