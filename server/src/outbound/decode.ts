/** gzip and br bodies, unpacked up to the limit and not a byte further: 1 MB of gzip can hold 1 GB. */
import { promisify } from "node:util";
import { brotliDecompress, gunzip } from "node:zlib";
import { LIMITS } from "../lib/limits.ts";
import { OutboundError, tooLarge } from "./errors.ts";
import type { Answer } from "./exchange.ts";

const DECODERS = { gzip: promisify(gunzip), "x-gzip": promisify(gunzip), br: promisify(brotliDecompress) };

/** Another coding, or more than one, is answered as it came, with its header. */
export async function decode(answer: Answer, host: string): Promise<Answer> {
  const coding = answer.headers["content-encoding"]?.trim().toLowerCase();
  if (coding === undefined || answer.body.length === 0 || !isKnown(coding)) return answer;
  try {
    const body = await DECODERS[coding](answer.body, { maxOutputLength: LIMITS.outputBytes });
    const { "content-encoding": _coding, "content-length": _length, ...headers } = answer.headers;
    return { ...answer, headers, body };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(host);
    throw new OutboundError("network", `${host} answered a body that is not valid ${coding}`);
  }
}

const isKnown = (coding: string): coding is keyof typeof DECODERS => Object.hasOwn(DECODERS, coding);
