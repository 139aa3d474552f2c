/** What a WebSocket's unfinished message holds: `ws` keeps frames and fragments until the message is whole. */
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Caller } from "../auth/caller.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Arrival, Arrivals } from "./arrivals.ts";

/** Of `ws` itself, which tells it in no other way; a test sees it when a newer one has other names for it. */
type Receiver = { _bufferedBytes: number; _messageLength: number };

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
  // Behind the listener of `ws`, which has taken whole messages out by then.
  stream.on("data", (chunk: Buffer) => {
    const held = receiver._bufferedBytes + receiver._messageLength;
    if (held === 0) return end();
    arrival ??= begin();
    arrival.came(chunk.length);
    const isTooLarge = held > LIMITS.strangerBodyBytes && !caller();
    if (isTooLarge || !arrival.hold(held)) socket.terminate();
  });
  socket.once("close", end);
}
