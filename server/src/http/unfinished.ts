/** What a WebSocket's unfinished message holds: `ws` keeps frames and fragments until the message is whole. */
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Caller } from "../auth/caller.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Arrival, Arrivals } from "./arrivals.ts";

/** Of `ws` itself, which tells it in no other way; a test sees it when a newer one has other names for it. */
type Receiver = { _bufferedBytes: number; _messageLength: number; _state: number };

/** Of `ws`: a whole message waits for its turn, and what came behind it with it. */
const DEFER_EVENT = 6;

export function holdUnfinished(
  socket: WebSocket,
  stream: Duplex,
  arrivals: Arrivals,
  caller: () => Caller | undefined,
): void {
  const receiver = (socket as unknown as { _receiver: Receiver })._receiver;
  let arrival: Arrival | undefined;
  const end = (): void => {
    arrival?.end();
    arrival = undefined;
  };
  const begin = (): Arrival => {
    const begun = arrivals.begin(() => socket.terminate());
    const owner = caller()?.organizationId;
    if (owner !== undefined) begun.belongsTo(owner);
    return begun;
  };
  const look = (came: number): void => {
    const held = receiver._bufferedBytes + receiver._messageLength;
    if (held === 0) return end();
    arrival ??= begin();
    arrival.came(came);
    const isHeld = arrival.hold(held);
    const isWhole = receiver._state === DEFER_EVENT;
    // A caller whose share is used up must be able to say which operations shall end.
    if (caller()) return isHeld || isWhole ? undefined : socket.terminate();
    const unfinished = isWhole ? receiver._messageLength : held;
    if (!isHeld || unfinished > LIMITS.strangerBodyBytes) socket.terminate();
  };
  // Behind the listener of `ws`, which has begun to take messages out by then.
  stream.on("data", (chunk: Buffer) => look(chunk.length));
  // Those behind it are taken out one in a turn, which is progress too.
  const taken = (): void => look(LIMITS.bodyProgressBytes);
  socket.on("message", taken).on("ping", taken).on("pong", taken);
  socket.once("close", end);
}
