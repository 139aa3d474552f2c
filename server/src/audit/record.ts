/**
 * Writing an event. Call it as the last statement of the transaction that does what it tells of: both are committed, or neither
 * is, and nobody else of the organization waits for longer than the commit.
 */
import { actorId } from "../lib/actor.ts";
import { encodeId, newId, type Kind } from "../lib/ids.ts";
import type { Json } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Query } from "../storage/database.ts";
import { canonicalJson } from "./canonical.ts";
import { SUBJECT_IDS, type From, type Subject, type What, type Who, type WrittenEvent } from "./event.ts";

/** `at`: ms since 1970. */
export async function record(query: Query, who: Who, at: number, what: What): Promise<void> {
  await query(`select ${appendEvent(1)}`, eventValues(who, at, what));
}

/** For a change that is one statement: the call, for its `returning`, and what it takes as parameters from `$first` on. */
export const appendEvent = (first: number): string =>
  `append_audit_event(${Array.from({ length: 6 }, (_, index) => `$${first + index}`).join(", ")})`;

export function eventValues(who: Who, at: number, what: What): unknown[] {
  const { organizationId, actor, from } = who;
  const id = newId<"auditEvent">();
  const event: WrittenEvent = {
    id: encodeId("auditEvent", id),
    organizationId: encodeId("organization", organizationId),
    at: new Date(at).toISOString(),
    action: what.action,
    actor: { kind: actor.kind, id: actorId(actor) },
    subject: what.subject ? writtenSubject(what.subject) : null,
    address: from.address?.slice(0, LIMITS.addressCharacters) ?? null,
    userAgent: shownUserAgent(from),
    detail: detailOf(from, what),
  };
  return [organizationId, id, event.at, what.action, actor.id, canonicalJson(event)];
}

const writtenSubject = ({ kind, id, name }: Subject): WrittenEvent["subject"] => ({
  kind,
  id: encodeId<Kind>(SUBJECT_IDS[kind], id),
  name: name == null ? null : shown(name),
});

/**
 * Texts that others chose must not move the cursor of a terminal that shows an export, nor turn the direction in which what comes
 * after it is shown: a name could make one event look like another.
 */
const shown = (text: string): string =>
  text.toWellFormed().replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, "?");

/** A client may call itself anything: text that looks like a credential of ours is cut out. */
const CREDENTIAL = /(?:ag_live_|rt_|inv_|rst_|apl_|eyJ)[\w.~+/=-]{8,}/g;

const shownUserAgent = ({ userAgent }: From): string | null =>
  userAgent === undefined ? null : shown(userAgent.replaceAll(CREDENTIAL, "…").slice(0, LIMITS.userAgentCharacters));

function detailOf({ note }: From, { detail = {} }: What): Record<string, Json> {
  const entries = Object.entries({ ...detail, note }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === "string" ? shown(value) : value]),
  ) as Record<string, Json>;
}
