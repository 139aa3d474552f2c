/** `kill -9` of what runs, as a whole or in part. */
import path from "node:path";
import { readPidFile, type PidFile } from "../../server/src/postgres/postmaster.ts";
import { eventually, type TestServer } from "../client.ts";
import { connectTo } from "./audit.ts";
import { childrenOf, killAll, titleOf } from "./processes.ts";
import type { Random } from "./random.ts";

type Killed = Pick<TestServer, "dataFolder">;

export const clusterOf = (server: Killed): string => path.join(server.dataFolder, "postgres");
const postmasterOf = (server: Killed): PidFile => readPidFile(clusterOf(server))!;

/** Those that serve a client; the others are PostgreSQL's own. */
const backendsOf = (server: Killed): number[] =>
  childrenOf(postmasterOf(server).pid).filter((pid) => / (\[local\]|\d+\.\d+\.\d+\.\d+)/.test(titleOf(pid)));

/** PostgreSQL and all that it has forked. */
export function postgresProcesses(server: Killed): number[] {
  const { pid } = postmasterOf(server);
  return [pid, ...childrenOf(pid)];
}

/** The server starts it again. */
export async function killPostmaster(server: Killed): Promise<void> {
  const before = postmasterOf(server);
  killAll([before.pid]);
  await eventually(() => {
    const now = readPidFile(clusterOf(server));
    return now !== undefined && now.pid !== before.pid && now.status === "ready";
  });
}

/** One of the server's sessions, as an operator ends it or a failover does. */
export async function endSession(server: Pick<TestServer, "dataFolder" | "databaseUrl">): Promise<void> {
  const client = await connectTo(server);
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() order by random() limit 1`,
  );
  await client.end();
}

/** PostgreSQL ends every other session too, as memory that they share may be torn; resolves when they have ended. */
export async function killBackend(server: Killed, random: Random): Promise<void> {
  const before = await eventually(() => {
    const backends = backendsOf(server);
    return backends.length > 0 ? backends : undefined;
  });
  killAll([random.pick(before)]);
  await eventually(() => !backendsOf(server).some((pid) => before.includes(pid)));
}
