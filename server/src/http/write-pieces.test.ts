import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { createPieceWriter } from "./write-pieces.ts";

test("a connection remembers no answer that was taken, and ends all that wait when it closes", async () => {
  const clock = testClock();
  let disposed = 0;
  const counting = {
    ...clock,
    at: (at: number, fire: () => void): Disposable => {
      const timer = clock.at(at, fire);
      return { [Symbol.dispose]: () => (disposed++, timer[Symbol.dispose]()) };
    },
  };
  const socket = new EventEmitter() as Socket;
  const { taken } = createPieceWriter(counting);
  const done: (() => void)[] = [];
  const write = (tell: () => void): void => void done.push(tell);
  const answers = Array.from({ length: 5 }, () => taken(socket, write));
  for (const tell of done.splice(0, 3)) tell();
  expect(await Promise.all(answers.slice(0, 3))).toEqual([true, true, true]);
  expect([disposed, socket.listenerCount("close")]).toEqual([3, 1]);
  socket.emit("close");
  expect(await Promise.all(answers.slice(3))).toEqual([false, false]);
  // Nothing of those that were over.
  expect(disposed).toBe(5);
});
