/** Remembers what a subscription sent last of each object, so that it does not say the same twice. */
import { hash } from "node:crypto";
import { stringify } from "../../lib/json/json-text.ts";
import { LIMITS } from "../../lib/limits.ts";

/** Bits of each SHA-1: 2^48 different ones, and as a number it takes 16 bytes. */
const HASH_BYTES = 6;

export class SentAnswers {
  /** Hashes: a text may have 8 MiB. Those sent last are at the end. A cache of the library would take 24 kB for the first one. */
  readonly #hashes = new Map<string, number>();

  /** Whether this is what was sent last of the object; if not, it counts as sent. One that is forgotten is sent again. */
  isRepeat(id: string, answer: unknown): boolean {
    const is = hash("sha1", stringify(answer), "buffer").readUIntBE(0, HASH_BYTES);
    const isRepeat = this.#hashes.get(id) === is;
    this.#hashes.delete(id);
    this.#hashes.set(id, is);
    if (this.#hashes.size > LIMITS.answersRemembered) this.#hashes.delete(this.#hashes.keys().next().value!);
    return isRepeat;
  }
}
