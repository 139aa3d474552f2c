/**
 * Requests that a connection sends without waiting for answers. node:http begins all requests of one read at once: 20
 * connections with 4,000 of strangers' requests each held the thread for 2.6 s.
 */
import type { Socket } from "node:net";
import { LIMITS } from "../../lib/limits.ts";
import { TickCount } from "../../fairness/tick-count.ts";

/** For all connections together, about 10 ms; beyond that each connection has a tenth. */
const PER_TICK = 250;
const CROWDED_SHARE = 1 / 10;

/** Kept with the connection: `readAt` tells which read its last request came with. */
type Pipelining = Socket & { readAt?: number; tick?: number; inTick?: number };

const begun = new TickCount();

/** Whether it may begin one more in this tick of the event loop. The first of each read always may. */
export function mayBegin(socket: Socket): boolean {
  const connection: Pipelining = socket;
  const { bytesRead } = connection;
  if (connection.readAt !== bytesRead) {
    connection.readAt = bytesRead;
    return true;
  }
  const isCrowded = begun.add() > PER_TICK;
  if (connection.tick !== begun.tick) {
    connection.tick = begun.tick;
    connection.inTick = 0;
  }
  const most = LIMITS.requestsPerConnection * (isCrowded ? CROWDED_SHARE : 1);
  return ++connection.inTick! < most;
}
