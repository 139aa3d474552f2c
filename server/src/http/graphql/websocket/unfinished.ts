/** The memory of a WebSocket's unfinished message: `ws` keeps frames and fragments until the message is whole. */
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Caller } from "../../../auth/caller.ts";
import { LIMITS } from "../../../lib/limits.ts";
import type { Arrival, Arrivals } from "../../connections/arrivals.ts";

/** Internals of `ws`, which tells it in no other way. A test notices when a newer version names them differently. */
type Receiver = { _bufferedBytes: number; _messageLength: number; _state: number };

/** A state of the receiver of `ws`: a whole message is waiting for its turn, together with what came after it. */
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
    const begun = arrivals.begin(
      () => socket.terminate(),
      () => socket.isPaused,
    );
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
    // A caller whose share is used up must still be able to end operations.
    if (caller()) return isHeld || isWhole ? undefined : socket.terminate();
    const unfinished = isWhole ? receiver._messageLength : held;
    if (!isHeld || unfinished > LIMITS.strangerBodyBytes) socket.terminate();
  };
  // After the listener of `ws`, which has begun to take messages out by then.
  stream.on("data", (chunk: Buffer) => look(chunk.length));
  // Later messages are taken out one per turn, which is progress too.
  const taken = (): void => look(LIMITS.bodyProgressBytes);
  socket.on("message", taken).on("ping", taken).on("pong", taken);
  socket.once("close", end);
}
