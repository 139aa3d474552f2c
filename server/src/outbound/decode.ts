/** gzip and br bodies, unpacked up to the limit and not a byte further: 1 MB of gzip can hold 1 GB. */
import { promisify } from "node:util";
import { brotliDecompress, gunzip } from "node:zlib";
import { codingOf, type Answer, type Coding } from "./answer.ts";
import { OutboundError } from "./errors.ts";

const DECODERS: Record<Coding, (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>> = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  br: promisify(brotliDecompress),
};

/** At most `maxBytes`; undefined if it has more. Returns another coding, or several, as it came, with its header. */
export async function decode(answer: Answer, host: string, maxBytes: number): Promise<Answer | undefined> {
  const coding = codingOf(answer.headers);
  if (coding === undefined || answer.body.length === 0) return answer;
  const { "content-encoding": _coding, "content-length": _length, ...headers } = answer.headers;
  try {
    return { ...answer, headers, body: await DECODERS[coding](answer.body, { maxOutputLength: maxBytes }) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw new OutboundError("network", `${host} answered a body that is not valid ${coding}`);
  }
}
