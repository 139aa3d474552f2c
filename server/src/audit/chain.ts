/**
 * The hash chain of an organization's events, as a file of lines: each is a `ChainedEvent` as canonical JSON (RFC 8785), and its
 * `hash` is the SHA-256 of the same text without `hash`. The database computes it (`append_audit_event`), this checks it.
 */
import { createHash } from "node:crypto";
import { isObject, parseStored, type Json } from "../lib/json/json.ts";
import { canonicalJson } from "./canonical.ts";
import type { ChainedEvent } from "./event.ts";

export const lineOf = ({ event, number, previous, hash }: ChainedEvent): string =>
  canonicalJson({ event, number, previous, hash });

export const BEFORE_THE_FIRST = "0".repeat(64);

type Link = { organizationId: string; number: number; previous: string; hash: string };

/** The state after a file was read to its end. `head`: its last event's hash. */
export type Verified = { organizationId: string; first: number; last: number; previous: string; head: string };

type Verifier = {
  /** Checks one line after the other. Returns what is wrong with it, for a sentence after its number. */
  take(line: string): string | undefined;
  /** Undefined for no lines. */
  result(): Verified | undefined;
};

/**
 * A line that was changed has another hash than it says. Anyone who changes its hash as well breaks the link to the next line,
 * and anyone who changes all that follow ends with another head than the one that was noted elsewhere.
 */
export function createVerifier(): Verifier {
  let first: Link | undefined;
  let last: Link | undefined;
  return {
    take(line) {
      const link = readLine(line);
      if (!link) return "was changed: it is not as the export wrote it";
      const problem = last ? problemAfter(last, link) : problemAtFirst(link);
      if (problem !== undefined) return problem;
      first ??= link;
      last = link;
      return undefined;
    },
    result: () =>
      first &&
      last && {
        organizationId: last.organizationId,
        first: first.number,
        last: last.number,
        previous: first.previous,
        head: last.hash,
      },
  };
}

/** Undefined when the line is not what was exported: a byte of it differs, or its hash. */
function readLine(line: string): Link | undefined {
  let value: Json;
  try {
    value = parseStored(line);
  } catch {
    return undefined;
  }
  if (!isObject(value) || canonicalJson(value) !== line) return undefined;
  const { hash, ...hashed } = value;
  const { event, number, previous } = hashed;
  if (hash !== createHash("sha256").update(canonicalJson(hashed)).digest("hex")) return undefined;
  if (!isObject(event!) || !Number.isSafeInteger(number) || typeof previous !== "string") return undefined;
  return { organizationId: String(event["organizationId"]), number: number as number, previous, hash };
}

function problemAtFirst({ number, previous }: Link): string | undefined {
  const isFirst = previous === BEFORE_THE_FIRST;
  return isFirst === (number === 1) ? undefined : `does not fit its number ${number}: it was inserted or changed`;
}

function problemAfter(last: Link, link: Link): string | undefined {
  if (link.organizationId !== last.organizationId) return "was inserted: it is another organization's";
  const expected = last.number + 1;
  if (link.number > expected)
    return `comes too early: ${link.number === expected + 1 ? `event ${expected} was` : `events ${expected} to ${link.number - 1} were`} removed before it, or moved`;
  if (link.number < expected) return `was inserted or moved: event ${link.number} belongs before it`;
  if (link.previous !== last.hash)
    return `does not follow the line before it: event ${last.number} or ${link.number} was replaced`;
  return undefined;
}
