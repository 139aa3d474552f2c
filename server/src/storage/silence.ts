import type { Socket } from "node:net";
import type { ClientBase } from "pg";

/** What node-postgres has in every client and its types don't tell. */
type Inside = {
  connection: { stream: Socket };
  /** No statement is under way. */
  readyForQuery: boolean;
};

/**
 * Ends a connection on which nothing moves for so long while a statement is under way: the other side is gone without a
 * word (a cut wire, a failover, a firewall that forgot), which TCP itself finds out after a quarter of an hour. Not with
 * node-postgres' `query_timeout`: that gives up the statement and keeps the connection. To be called once connected:
 * only then the stream is the encrypted one.
 */
export function endWhenSilent(client: ClientBase, silentMs: number): void {
  const inside = client as unknown as Inside;
  const { stream } = inside.connection;
  stream.setTimeout(silentMs);
  // Each time, not as setTimeout's own listener, which is called once: that may be while the connection is idle.
  stream.on("timeout", () => {
    if (!inside.readyForQuery) stream.destroy(new Error("Connection terminated: no answer"));
  });
}
