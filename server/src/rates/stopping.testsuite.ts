/**
 * A process that reserves room for a model's call and stops itself in the middle of the transaction: `node stopping.testsuite.ts DATABASE_URL
 * ORGANIZATION`. It says `stopping` before, and what came of it after a test lets it continue.
 */
import { realClock } from "../lib/clock.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { createLog } from "../lib/log/log.ts";
import { openDatabase, type Database } from "../storage/database.ts";
import { isUnavailable } from "../storage/pg-errors.ts";
import { createBudgets } from "./budgets.ts";
import { callOf } from "./planned-call.testsuite.ts";

async function main(connectionString: string, organizationId: OrganizationId): Promise<void> {
  const log = createLog("silent");
  await using database = openDatabase({ connection: { connectionString }, isEmbedded: false, log });
  let hasStopped = false;
  const stops: Database = {
    ...database,
    transaction: (work) =>
      database.transaction((query) =>
        work(async (...statement) => {
          const rows = await query(...statement);
          if (!hasStopped) {
            hasStopped = true;
            await new Promise<void>((resolve) => process.send!("stopping", () => resolve()));
            process.kill(process.pid, "SIGSTOP");
          }
          return rows;
        }),
      ),
  };
  const allowanceOf = async () => undefined;
  await using budgets = createBudgets({ database: stops, clock: realClock, log, allowanceOf });
  const outcome = await budgets.reserve(callOf(organizationId, Date.now())).then(
    () => "reserved",
    (error: unknown) => (isUnavailable(error) ? "unavailable" : String(error)),
  );
  await budgets.settled(organizationId);
  process.send!(outcome);
  process.disconnect();
}

await main(process.argv[2]!, process.argv[3] as OrganizationId);
