/**
 * Requests that one connection sends without waiting for answers. node:http begins all of a read in one stretch: 20
 * connections with 4,000 of strangers' requests each held the thread for 2.6 s.
 */
import type { Socket } from "node:net";
import { LIMITS } from "../lib/limits.ts";

/** All connections together, about 10 ms; then each has a tenth. */
const PER_TURN = 250;
const CROWDED_SHARE = 1 / 10;

/** Kept with its connection: `readAt` names the read that its last request came with. */
type Pipelining = Socket & { readAt?: number; turn?: number; inTurn?: number };

let turn = 0;
let inThisTurn = 0;

/** Whether it may begin one more in this turn of the event loop. The first of each read always may. */
export function mayBegin(socket: Socket): boolean {
  const connection: Pipelining = socket;
  const { bytesRead } = connection;
  if (connection.readAt !== bytesRead) {
    connection.readAt = bytesRead;
    return true;
  }
  if (inThisTurn++ === 0) setImmediate(nextTurn);
  if (connection.turn !== turn) {
    connection.turn = turn;
    connection.inTurn = 0;
  }
  const most = inThisTurn > PER_TURN ? LIMITS.requestsPerConnection * CROWDED_SHARE : LIMITS.requestsPerConnection;
  return ++connection.inTurn! < most;
}

function nextTurn(): void {
  turn++;
  inThisTurn = 0;
}
