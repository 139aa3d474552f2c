/** Reads a request's body, within the limits of who sends it. */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { Refusal } from "../../lib/errors.ts";
import { heldBytes } from "../../lib/json/held-bytes.ts";
import { LIMITS } from "../../lib/limits.ts";
import { HttpRefusal } from "../http-refusal.ts";
import { clientGone } from "./connections.ts";
import { noRoom, SMALL_BYTES, type Arrivals, type AskSender } from "./arrivals.ts";

export const tooLarge = (): Refusal =>
  new Refusal("REQUEST_ENTITY_TOO_LARGE", `the request body is larger than ${LIMITS.bodyBytes} bytes`);

const tooLargeForStranger = (): Refusal =>
  new Refusal(
    "REQUEST_ENTITY_TOO_LARGE",
    `without a credential a request body may have at most ${LIMITS.strangerBodyBytes} bytes`,
  );

/** About the most that a character of JSON takes when it is parsed (lib/json/held-bytes.ts). */
const MAX_PER_CHARACTER = 21;

/** About what a piece takes in addition to its bytes. */
const BYTES_PER_PIECE = 250;

const lateBody = (): HttpRefusal =>
  new HttpRefusal(
    408,
    `the request body did not arrive in time: send at least ${LIMITS.bodyProgressBytes} bytes, or all that is left, every ${LIMITS.bodyProgressSeconds} s`,
  );

const lengthOf = ({ headers }: IncomingMessage): number | undefined =>
  headers["content-length"] === undefined ? undefined : Number(headers["content-length"]);

export const isTooLong = (request: IncomingMessage): boolean => (lengthOf(request) ?? 0) > LIMITS.bodyBytes;

/** Its memory is counted until it is released. */
export type Body = { text: string; release: (() => void) | undefined };

/** Asks who sends a body that is too large for a stranger. Throws REQUEST_ENTITY_TOO_LARGE. */
async function senderOfLarge(length: number, askSender: AskSender): Promise<Awaited<ReturnType<AskSender>>> {
  if (length > LIMITS.bodyBytes) throw tooLarge();
  const sender = await askSender();
  if (!sender) throw tooLargeForStranger();
  return sender;
}

/** Empties `chunks`. Throws BAD_REQUEST. */
function textOf(chunks: Buffer[]): string {
  const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  chunks.length = 0;
  if (!isUtf8(body)) throw new Refusal("BAD_REQUEST", "the request body is not UTF-8 text");
  return body.toString();
}

/**
 * The whole body as text, chunked or not. Throws REQUEST_ENTITY_TOO_LARGE as soon as it is, UNAVAILABLE when there is no room
 * for it, HttpRefusal when it stands still, BAD_REQUEST, and UNAUTHENTICATED when `askSender` had to be called and refused.
 */
export async function readBody(request: IncomingMessage, arrivals: Arrivals, askSender: AskSender): Promise<Body> {
  const length = lengthOf(request);
  const caller =
    length !== undefined && length > LIMITS.strangerBodyBytes ? await senderOfLarge(length, askSender) : undefined;
  const { promise, resolve, reject } = Promise.withResolvers<Body>();
  const chunks: Buffer[] = [];
  const fail = (error: unknown): void => {
    request.pause();
    arrival.end();
    chunks.length = 0;
    reject(error);
  };
  const arrival = arrivals.begin((reason) => fail(reason ?? lateBody()));
  let [isKnown, bytes] = [caller !== undefined, 0];
  if (caller) arrival.belongsTo(caller.organizationId);

  /** No room is left for strangers, or the body is too large for one: checks the credential while the sender waits. */
  const identify = async (refusal: Refusal, held: number): Promise<void> => {
    isKnown = true;
    const known = await askSender();
    if (!known) throw refusal;
    if (!arrival.belongsTo(known.organizationId) || !arrival.hold(held)) throw noRoom();
  };

  /** Parsed, it takes more memory than as text, and is held until it is answered. */
  const whole = async (): Promise<Body> => {
    const text = textOf(chunks);
    const held = text.length > SMALL_BYTES / MAX_PER_CHARACTER ? heldBytes(text) : 0;
    if (held <= SMALL_BYTES) {
      arrival.end();
      return { text, release: undefined };
    }
    arrival.whole();
    if (!arrival.hold(held)) {
      if (isKnown) throw noRoom();
      await identify(noRoom(), held);
    }
    return { text, release: () => arrival.end() };
  };

  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LIMITS.bodyBytes) return fail(tooLarge());
    chunks.push(chunk);
    arrival.came(chunk.length);
    // Nearly every body arrives in one piece.
    if (bytes === length) return;
    const isTooLarge = !isKnown && bytes > LIMITS.strangerBodyBytes;
    const held = bytes + chunks.length * BYTES_PER_PIECE;
    if (!isTooLarge && arrival.hold(held)) return;
    if (isKnown) return fail(noRoom());
    request.pause();
    identify(isTooLarge ? tooLargeForStranger() : noRoom(), held).then(() => void request.resume(), fail);
  });
  request.on("end", () => void whole().then(resolve, fail));
  // A client may also go away after its whole body has arrived; then its connection ends what it asked for.
  request.on("error", () => request.complete || fail(clientGone()));
  request.on("close", () => request.complete || arrival.end());
  return promise;
}
