/**
 * Whether the database answers, for probes. They need no credential: when each of 4,000 concurrent probes had its own
 * statement, more than half were told that a healthy server is not ready.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "./database.ts";

const ANSWER_MS = 1_000;
/** Short, so that few probes wait for one answer: all of these are then sent at once. */
const KEPT_MS = 100;

/** One look at a time; keeps its answer for a moment. */
export function createProbe({ query }: Pick<Database, "query">): () => Promise<boolean> {
  let looking: Promise<boolean> | undefined;
  const look = async (): Promise<boolean> => {
    const asked = query("select 1").then(
      () => true,
      () => false,
    );
    const isThere = await Promise.race([asked, sleep(ANSWER_MS, false, { ref: false })]);
    setTimeout(() => (looking = undefined), KEPT_MS).unref();
    return isThere;
  };
  return () => (looking ??= look());
}
