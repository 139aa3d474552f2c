/**
 * Chunked bodies in tiny chunks. node:http makes a Buffer and a call of each, 2.5 µs of the main thread and 250 bytes: one
 * read of 64 kB has 10,900 chunks of one byte, and what a paused request keeps of them nobody else counts.
 */
import { Readable } from "node:stream";
import { LIMITS } from "../../lib/limits.ts";
import { TickCount } from "../../fairness/tick-count.ts";
import { sendError, type Exchange } from "../write-response.ts";
import { ignoreRest } from "./parser.ts";

/** A chunk of this many bytes is worth its cost. */
const FAIR_BYTES = 512;
/** How many unfair chunks all bodies may bring in one turn of the event loop, about 10 ms; beyond that each body has a tenth. */
const PER_TURN = 4_000;
const CROWDED_SHARE = 1 / 10;

const came = new TickCount();

/** Refuses the request when its body comes in too many pieces, and throws away the rest. */
export function limitChunks(exchange: Exchange): void {
  const { request, response } = exchange;
  let bytes = 0;
  let pieces = 0;
  let isCut = false;
  const cut = (): false => {
    isCut = true;
    ignoreRest(request.socket);
    sendError(exchange, 413, "REQUEST_ENTITY_TOO_LARGE", TOO_MANY);
    request.socket.destroySoon();
    return false;
  };
  // Where the parser gives them, whether or not somebody reads.
  request.push = (chunk: Buffer | null, ...more): boolean => {
    if (isCut) return false;
    if (chunk !== null) {
      bytes += chunk.length;
      pieces++;
      const isCrowded = came.add() > PER_TURN;
      const beyond = pieces - bytes / FAIR_BYTES;
      const most = LIMITS.bodyPieces * (isCrowded ? CROWDED_SHARE : 1);
      if (beyond > most) return cut();
    }
    return Readable.prototype.push.call(request, chunk, ...more);
  };
  // When a body was answered unread, Node throws the rest away, at the same cost.
  response.once("finish", () => {
    if (!request.complete && request.listenerCount("data") === 0) request.socket.destroySoon();
  });
}

const TOO_MANY = `the request body comes in more than ${LIMITS.bodyPieces} chunks beyond one for each ${FAIR_BYTES} bytes: send it in larger ones`;
