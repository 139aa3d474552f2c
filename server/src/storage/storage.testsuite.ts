/** A process that opens storage and ends, for tests that start many at once: `node storage.testsuite.ts DATABASE_URL`. */
import os from "node:os";
import { realClock } from "../lib/clock.ts";
import { createLog } from "../lib/log/log.ts";
import { openStorage } from "./open-storage.ts";

async function openAndClose(databaseUrl: string): Promise<void> {
  const log = createLog("warn");
  await using storage = await openStorage({ databaseUrl, dataFolder: os.tmpdir(), url: "", clock: realClock, log });
  if (storage.database.months.size < 3) throw new Error("a month has no partition");
}

await openAndClose(process.argv[2]!);
