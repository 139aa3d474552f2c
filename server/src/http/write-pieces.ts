/**
 * Writes an answer to the kernel piece by piece. A reader that has not taken a piece after 20 s is cut: it would
 * hold the answer for as long as it likes. This requires 3.3 kB/s, a tenth of the slowest line that people have.
 */
import type { Socket } from "node:net";
import type { Clock } from "../lib/clock.ts";
import { LIMITS } from "../lib/limits.ts";

export const PIECE_BYTES = 64 * 1024;

/** Calls `done` when the kernel has the piece, or never will have it. */
type Write = (piece: Buffer, isLast: boolean, done: (error?: Error | null) => void) => void;

export type PieceWriter = {
  /** All of it, in pieces. False when the reader is gone or was cut. */
  pieces(socket: Socket, bytes: Buffer, write: Write): Promise<boolean>;
  /** One that is written already; `done` as above. */
  taken(socket: Socket, write: (done: (error?: Error | null) => void) => void): Promise<boolean>;
};

export function createPieceWriter(clock: Clock): PieceWriter {
  // One listener a socket: a client may ask for fifty answers before it reads one.
  const waiting = new WeakMap<Socket, Set<() => void>>();
  const waitingFor = (socket: Socket): Set<() => void> => {
    const known = waiting.get(socket);
    if (known) return known;
    const all = new Set<() => void>();
    waiting.set(socket, all);
    socket.once("close", () => all.forEach((gone) => gone()));
    return all;
  };
  const taken: PieceWriter["taken"] = (socket, write) =>
    new Promise((resolve) => {
      let timer: Disposable | undefined;
      let isOver = false;
      const end = (isTaken: boolean): void => {
        isOver = true;
        timer?.[Symbol.dispose]();
        answers.delete(gone);
        resolve(isTaken);
      };
      const gone = (): void => end(false);
      const arm = (written: number): void => {
        timer = clock.at(clock.now() + LIMITS.readerSeconds * 1_000, () => {
          // It may wait for another answer on its connection, which is being read or not made yet: then nothing
          // waits for the reader.
          if (socket.bytesWritten > written || socket.writableLength === 0) return arm(socket.bytesWritten);
          socket.destroy();
        });
      };
      const answers = waitingFor(socket).add(gone);
      if (socket.destroyed) return end(false);
      write((error) => end(!error));
      // From now on, so that this piece itself is no progress.
      if (!isOver) arm(socket.bytesWritten);
    });
  return {
    taken,
    pieces: async (socket, bytes, write) => {
      for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
        const end = start + PIECE_BYTES;
        if (!(await taken(socket, (done) => write(bytes.subarray(start, end), end >= bytes.length, done))))
          return false;
      }
      return true;
    },
  };
}
