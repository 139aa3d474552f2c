/**
 * A process with an embedded engine whose runs tick for ever, each tick behind the fence; a test starts, stops and kills
 * it: `node ticking.testsuite.ts DATABASE_URL`. Its first message is its instance id.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { realClock } from "../lib/clock.ts";
import { newId } from "../lib/ids.ts";
import { createLog } from "../lib/log.ts";
import { Places } from "../lib/places.ts";
import { openDatabase } from "../storage/database.ts";
import { EmbeddedEngine } from "./embedded.ts";
import type { Advance } from "./engine.ts";

const TICK_MS = 20;

async function main(connectionString: string): Promise<void> {
  const log = createLog("silent");
  const database = openDatabase({ connection: { connectionString }, isEmbedded: false, log });
  const instanceId = newId<"instance">();
  const places = new Places({ shared: 100, own: 8 });
  const engine = new EmbeddedEngine({ database, clock: realClock, log, instanceId, places });
  const advance: Advance = async (id) => {
    const [claimed] = await database.query(
      `update runs set epoch = epoch + 1, owner = $1, wake_at = null
        where id = $2 and (owner is not null or wake_at <= $3)
          and exists (select 1 from executor where instance_id = $1) returning epoch`,
      [instanceId, id, new Date(realClock.now())],
    );
    if (!claimed) return { kind: "lost" };
    for (;;) {
      const ticked = await database.query(
        `with r as (update runs set revision = revision + 1 where id = $1 and epoch = $2 returning revision)
         insert into ticks select $3, revision - 1 from r returning number`,
        [id, claimed["epoch"], instanceId],
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
