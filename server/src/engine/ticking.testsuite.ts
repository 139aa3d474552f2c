/**
 * A process with an embedded engine whose runs tick forever, each tick behind the fence. A test starts, stops and kills
 * it: `node ticking.testsuite.ts DATABASE_URL`. Its first message is its instance id.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { realClock } from "../lib/clock.ts";
import { newId } from "../lib/ids.ts";
import { createLog } from "../lib/log/log.ts";
import { Places } from "../fairness/places.ts";
import { openDatabase } from "../storage/database.ts";
import { EmbeddedEngine } from "./embedded.ts";
import type { Advance } from "./engine.ts";
import type { ClaimedRow } from "./sql-engine.ts";

const TICK_MS = 20;

async function main(connectionString: string): Promise<void> {
  const log = createLog("silent");
  const database = openDatabase({ connection: { connectionString }, isEmbedded: false, log });
  const instanceId = newId<"instance">();
  const places = new Places({ shared: 100, own: 8 });
  const claimed: ClaimedRow<{ epoch: number }> = { columns: ["epoch"], of: (row) => ({ epoch: row["epoch"] }) };
  const engine = new EmbeddedEngine({ database, clock: realClock, log, instanceId, places, claimed });
  const advance: Advance<{ epoch: number }> = async ({ runId: id, claim }) => {
    const held = await claim();
    if (!held) return { kind: "lost" };
    for (;;) {
      const ticked = await database.query(
        `with r as (update runs set revision = revision + 1 where id = $1 and epoch = $2 returning revision)
         insert into ticks select $3, revision - 1 from r returning number`,
        [id, held.epoch, instanceId],
      );
      if (ticked.length === 0) return { kind: "lost" };
      await sleep(TICK_MS);
    }
  };
  await engine.start(advance);
  process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
  process.send!(instanceId);
}

await main(process.argv[2]!);
