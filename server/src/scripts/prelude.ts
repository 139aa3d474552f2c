/**
 * The JavaScript that makes a script's surroundings, inside QuickJS. It is evaluated once, before the snapshot that each script begins
 * with, and keeps what it uses of the language: a script may replace whatever it can reach.
 */
import { LIMITS } from "../lib/limits.ts";

/** The functions of this process that it is given, in the order of its parameters. */
export const HOST_FUNCTIONS = ["hash", "hmac", "uuid", "print", "done", "failed"] as const;
export type HostFunction = (typeof HOST_FUNCTIONS)[number];

/** More leaves QuickJS of a log and of an error's text than is kept, so that a secret at the place of the cut can be told. */
export const MORE_CHARACTERS = 1_024;
/** Characters of an error's text that are kept, and of its stack that leave QuickJS. */
export const MAX_ERROR_CHARACTERS = 2_000;
const MAX_STACK_CHARACTERS = 4_000;

/** Evaluates to a function of the host functions that returns `start`. */
export const PRELUDE = `(function (${HOST_FUNCTIONS.join(", ")}) {
"use strict";
const { stringify, parse } = JSON;
const { apply } = Reflect;
const { then } = Promise.prototype;
const { slice } = String.prototype;
const { isView } = ArrayBuffer;
const Bytes = Uint8Array;
const Buffer = ArrayBuffer;
const Problem = TypeError;
const Fault = Error;
const text = String;
const cut = (value, most) => apply(slice, value, [0, most]);

const bytesOf = (value, what) => {
  if (typeof value === "string") return value;
  if (isView(value)) return new Bytes(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof Buffer) return new Bytes(value);
  throw new Problem(what + " must be text or bytes");
};
const hashing = (algorithm) => (data) => hash(algorithm, bytesOf(data, "the data"));
const signing = (algorithm) => (key, data) => hmac(algorithm, bytesOf(key, "the key"), bytesOf(data, "the data"));
const hidden = (target, values) => {
  for (const name of Object.keys(values))
    Object.defineProperty(target, name, { value: values[name], writable: true, configurable: true, enumerable: false });
};
hidden(globalThis, {
  crypto: {
    sha256: hashing("sha256"),
    sha1: hashing("sha1"),
    md5: hashing("md5"),
    hmacSha256: signing("sha256"),
    hmacSha1: signing("sha1"),
    randomUUID: () => uuid(),
  },
});

const shown = (value) => {
  try {
    if (typeof value === "string") return value;
    if (value instanceof Fault) return value.name + ": " + value.message;
    return typeof value === "object" ? (stringify(value) ?? text(value)) : text(value);
  } catch {
    return "[a value that cannot be shown]";
  }
};
let lines = 0;
let characters = 0;
const log = (...values) => {
  if (lines > ${LIMITS.scriptLogLines} || characters > ${LIMITS.scriptLogBytes}) return;
  lines++;
  let line = "";
  for (let at = 0; at < values.length; at++) {
    line += (at > 0 ? " " : "") + shown(values[at]);
    if (line.length > ${LIMITS.scriptLogBytes + MORE_CHARACTERS}) break;
  }
  line = cut(line, ${LIMITS.scriptLogBytes + MORE_CHARACTERS} + 1);
  characters += line.length + 1;
  print(line);
};
hidden(globalThis, { console: { log, info: log, warn: log, error: log, debug: log } });

// xoshiro128**, seeded for each script.
let a = 1, b = 2, c = 3, d = 4;
const rotated = (value, by) => (value << by) | (value >>> (32 - by));
const next = () => {
  const made = Math.imul(rotated(Math.imul(b, 5), 7), 9) >>> 0;
  const e = b << 9;
  c ^= a; d ^= b; b ^= c; a ^= d; c ^= e;
  d = rotated(d, 11);
  return made;
};
hidden(Math, { random: () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992 });

const fail = (reason) => {
  let stack = "";
  let what = "";
  try {
    const isFault = reason instanceof Fault;
    if (isFault) stack = cut(text(reason.stack), ${MAX_STACK_CHARACTERS});
    what = cut(isFault ? shown(reason) : "the script threw " + shown(reason), ${MAX_ERROR_CHARACTERS + MORE_CHARACTERS});
  } catch {}
  failed(what, stack);
};
return (script, values, w, x, y, z) => {
  a = w | 0; b = x | 0; c = y | 0; d = z | 1;
  const ended = (value) => {
    let written;
    try {
      written = stringify(value);
    } catch (reason) {
      return fail(reason);
    }
    if (written === undefined) written = "null";
    if (written.length > ${LIMITS.outputBytes}) done("", written.length);
    else done(written, 0);
  };
  apply(then, apply(script, undefined, parse(values)), [ended, fail]);
};
})`;
