/**
 * TypeIDs (spec 0.3): `<prefix>_<26 characters of Crockford base32>`, a UUIDv7 stored as `uuid`.
 * Only the canonical form is accepted: lower case, first character 0 to 7.
 */
import { randomFillSync } from "node:crypto";
import { V7Generator } from "uuidv7";

const PREFIXES = {
  organization: "org",
  user: "user",
  project: "project",
  agent: "agent",
  agentVersion: "version",
  run: "run",
  runDraft: "draft",
  approval: "approval",
  trigger: "trigger",
  firing: "firing",
  event: "event",
  apiKey: "key",
  /** A user's membership in an organization; the UUID is the user's. */
  member: "member",
  invitation: "invitation",
  session: "session",
  secret: "secret",
  modelConnection: "model",
  auditEvent: "audit",
  mail: "mail",
  instance: "instance",
} as const;
export type Kind = keyof typeof PREFIXES;

declare const kind: unique symbol;
/** A UUID in its 36-character lower-case form, as PostgreSQL has it. The TypeID is made at the edges only. */
export type Id<K extends Kind> = string & { readonly [kind]: K };
export type OrganizationId = Id<"organization">;
export type UserId = Id<"user">;
export type ProjectId = Id<"project">;
export type AgentId = Id<"agent">;
export type AgentVersionId = Id<"agentVersion">;
export type RunId = Id<"run">;
export type RunDraftId = Id<"runDraft">;
export type ApprovalId = Id<"approval">;
export type TriggerId = Id<"trigger">;
export type FiringId = Id<"firing">;
export type EventId = Id<"event">;
export type ApiKeyId = Id<"apiKey">;
export type MemberId = Id<"member">;
export type InvitationId = Id<"invitation">;
export type SessionId = Id<"session">;
export type SecretId = Id<"secret">;
export type ModelConnectionId = Id<"modelConnection">;
export type AuditEventId = Id<"auditEvent">;
export type MailId = Id<"mail">;
export type InstanceId = Id<"instance">;

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const HEX = "0123456789abcdef";
const HYPHEN = 45;

/** The value of each character, by its code; undefined for others. */
const valuesIn = (alphabet: string): (number | undefined)[] => {
  const values: (number | undefined)[] = Array.from({ length: 128 }, () => undefined);
  for (let value = 0; value < alphabet.length; value++) values[alphabet.charCodeAt(value)] = value;
  return values;
};
const VALUES = valuesIn(ALPHABET);
const HEX_VALUES = valuesIn(HEX);

/** A new UUIDv7: ordered by creation within a process, its first 48 bits the time in ms. */
export const newId = <K extends Kind>(): Id<K> => generator.generate().toString() as Id<K>;

/** The same with another time (ms) than the system's. Two ids of one ms are in order; a time 10 s behind the last restarts the order. */
export const newIdAt = <K extends Kind>(time: number): Id<K> =>
  generator.generateOrResetWithTs(time).toString() as Id<K>;

/** Draws random words a thousand at a time: the library's own source asks the system for every second id. */
const words = new Uint32Array(1024);
let drawn = words.length;
const generator = new V7Generator({
  nextUint32() {
    if (drawn === words.length) {
      randomFillSync(words);
      drawn = 0;
    }
    return words[drawn++]!;
  },
});

/** The creation time that a UUIDv7 carries, in ms since 1970. */
export const timeOfId = (id: Id<Kind>): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/** 128 bits in 26 characters of 5: two zero bits lead. */
/** Below every id; nobody has it. */
export const NO_ID = "00000000-0000-0000-0000-000000000000";
export const ABOVE_ALL_IDS = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Below every id of this time (ms) and later, above every earlier one. */
export function leastIdOf(time: number): string {
  const hex = Math.max(0, time).toString(16).padStart(12, "0").slice(-12);
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

export function encodeId<K extends Kind>(of: K, id: Id<K>): string {
  let text = `${PREFIXES[of]}_`;
  let held = 0;
  let bits = 2;
  for (let index = 0; index < id.length; index++) {
    const code = id.charCodeAt(index);
    if (code === HYPHEN) continue;
    held = (held << 4) | HEX_VALUES[code]!;
    bits += 4;
    if (bits < 5) continue;
    bits -= 5;
    text += ALPHABET[held >> bits];
    held &= (1 << bits) - 1;
  }
  return text;
}

/** The id behind a TypeID of this kind; undefined for anything but the canonical form. */
export function decodeId<K extends Kind>(of: K, text: string): Id<K> | undefined {
  const start = PREFIXES[of].length + 1;
  if (text.length !== start + 26 || !text.startsWith(`${PREFIXES[of]}_`) || text[start]! > "7") return undefined;
  let hex = "";
  let held = 0;
  let bits = -2;
  for (let index = start; index < text.length; index++) {
    const value = VALUES[text.charCodeAt(index)];
    if (value === undefined) return undefined;
    held = (held << 5) | value;
    bits += 5;
    while (bits >= 4) {
      bits -= 4;
      hex += HEX[held >> bits];
      held &= (1 << bits) - 1;
    }
  }
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}` as Id<K>;
}

/** Ids from `least` on, and below `before`. */
export type IdRange = { least: string; before: string };

/** The ids of this kind that begin with a text; undefined if no id can. */
export function idsFrom(of: Kind, text: string): IdRange | undefined {
  const start = PREFIXES[of].length + 1;
  const least = decodeId(of, text.padEnd(start + 26, "0"));
  // The first character says 3 bits.
  const last = decodeId(of, text.padEnd(start + 1, "7").padEnd(start + 26, "z"));
  return least && last && { least, before: idAfter(last) };
}

function idAfter(id: string): string {
  const hex = (BigInt(`0x${id.replaceAll("-", "")}`) + 1n).toString(16).padStart(32, "0");
  if (hex.length > 32) return ABOVE_ALL_IDS;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** A step has no UUID of its own: `step_<the run's 26 characters>_<number>`. */
const STEP = "step";
export type StepId = { runId: RunId; number: number };

export const encodeStepId = ({ runId, number }: StepId): string =>
  `${STEP}_${encodeId("run", runId).slice(PREFIXES.run.length + 1)}_${number}`;

export function decodeStepId(text: string): StepId | undefined {
  const [, run, number] = /^step_(\w{26})_([1-9]\d{0,8})$/.exec(text) ?? [];
  const runId = run === undefined ? undefined : decodeId("run", `${PREFIXES.run}_${run}`);
  return runId && { runId, number: Number(number) };
}

/** The kind that an id's prefix names, for `node(id)`. */
export function kindOfId(text: string): Kind | typeof STEP | undefined {
  const prefix = text.slice(0, text.indexOf("_"));
  if (prefix === STEP) return STEP;
  return (Object.keys(PREFIXES) as Kind[]).find((candidate) => PREFIXES[candidate] === prefix);
}
