import type { Socket } from "node:net";
import type { ClientBase } from "pg";

/** A property of every node-postgres client that its types don't mention. */
type Inside = {
  connection: { stream: Socket };
  /** No statement is under way. */
  readyForQuery: boolean;
};

/**
 * Ends a connection that is silent for this long during a statement: the other side is gone without notice (a cut wire, a
 * failover, a forgetful firewall), which TCP itself notices after a quarter of an hour. Node-postgres' `query_timeout`
 * would give up the statement but keep the connection. Call once connected: only then is the stream the encrypted one.
 */
export function endWhenSilent(client: ClientBase, silentMs: number): void {
  const inside = client as unknown as Inside;
  const { stream } = inside.connection;
  stream.setTimeout(silentMs);
  // Each time: setTimeout's own listener is called once, perhaps while the connection is idle.
  stream.on("timeout", () => {
    if (!inside.readyForQuery) stream.destroy(new Error("Connection terminated: no answer"));
  });
}
