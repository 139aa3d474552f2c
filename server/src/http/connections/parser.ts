/** Reaches into node:http's parser, which continues to the end of a 64 kB read whatever happened to its connection. */
import type { Socket } from "node:net";

/** The parser's callbacks by number: headers, headers complete, body, message complete. A test notices new ones. */
const CALLED = [1, 2, 3, 4];

type Parser = Record<number, unknown>;

/** Ignores everything else that comes on the connection, at a tenth of the cost. The caller closes it. */
export function ignoreRest(socket: Socket): void {
  const { parser } = socket as unknown as { parser: Parser | null };
  if (!parser) return;
  const called = CALLED.map((number) => parser[number]);
  for (const number of CALLED) parser[number] = null;
  // Otherwise libuv reads on, 32 times in a row.
  socket.pause();
  // Parsers are reused.
  socket.once("close", () => CALLED.forEach((number, index) => (parser[number] = called[index])));
}
