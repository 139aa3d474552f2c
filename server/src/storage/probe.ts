/**
 * Whether the database answers, for probes. They need no credential: with a statement of its own for each of 4,000 at a
 * time more than half were told that a server in good health is not ready.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "./database.ts";

const ANSWER_MS = 1_000;
/** So that few wait for one answer, which are then all sent in one go. */
const KEPT_MS = 100;

/** One look at a time, whose answer is kept for a moment. */
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
