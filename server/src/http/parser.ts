/** Reaches into node:http's parser, which goes through a read of 64 kB to its end, whatever its connection has become. */
import type { Socket } from "node:net";

/** What the parser calls, by its numbers: headers, headers complete, body, message complete. A test sees it when a newer Node has others. */
const CALLED = [1, 2, 3, 4];

type Parser = Record<number, unknown>;

/** Nothing is made any more of what comes on the connection; that costs a tenth. It shall be closed. */
export function ignoreRest(socket: Socket): void {
  const { parser } = socket as unknown as { parser: Parser | null };
  if (!parser) return;
  const called = CALLED.map((number) => parser[number]);
  for (const number of CALLED) parser[number] = null;
  // Else libuv reads on, 32 times in a row.
  socket.pause();
  // Parsers are used again.
  socket.once("close", () => CALLED.forEach((number, index) => (parser[number] = called[index])));
}
