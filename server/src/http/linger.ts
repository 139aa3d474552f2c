/**
 * The end of a connection whose request was answered before all of its body came. Closing it at once would reset it, and its client,
 * which is still sending, would lose the answer: 25 of 40 did. So the rest of the body is thrown away for a while.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { LIMITS } from "../lib/limits.ts";

/** A body in tiny pieces costs more than its bytes. */
const MAX_PIECES = 4_096;

/** How to end each that lingers, the oldest first. */
const lingering = new Set<() => void>();

/** Throws the rest of the body away. The answer announces the close, and the client may end it by closing, too. */
export function linger(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  let [bytes, pieces] = [0, 0];
  let timer: NodeJS.Timeout | undefined;
  const cut = (): void => {
    lingering.delete(cut);
    socket.destroy();
  };
  // node:http closes a connection with its last answer. Only our half of it is closed: nothing more is sent.
  socket.destroySoon = () => void socket.end();
  // It may still wait behind slower answers.
  response.once("finish", () => {
    timer = setTimeout(cut, LIMITS.unreadSeconds * 1_000).unref();
    if (request.readableEnded) close();
  });
  const close = (): void => Socket.prototype.destroySoon.call(socket);
  request.removeAllListeners("data");
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    // Freed at once: what hundreds throw away would stay until the next collection, some 64 MB of it.
    const { buffer } = chunk;
    if (buffer instanceof ArrayBuffer && buffer.byteLength === chunk.length) buffer.transfer(0);
    if (bytes > LIMITS.unreadBytes || ++pieces > MAX_PIECES) cut();
  });
  request.once("end", () => {
    if (response.writableFinished) close();
  });
  request.on("error", () => {});
  // Its `close` has been: its client went away in the middle of the body.
  if (socket.destroyed) return;
  lingering.add(cut);
  if (lingering.size > LIMITS.unreadBodies) lingering.values().next().value!();
  socket.once("close", () => {
    clearTimeout(timer);
    lingering.delete(cut);
  });
  request.resume();
}
