/** The contract of a kind of trigger (ARCHITECTURE.md, "How to add something"). */
import type { FieldProblem } from "../../../lib/errors.ts";
import type { ProjectId, TriggerId } from "../../../lib/ids.ts";
import type { Json, JsonObject } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";
import type { Reach } from "../../../lib/reach.ts";

/** A key of a configuration or of a policy. `api`: its type in the API. */
export type Key = {
  api:
    | "String"
    | "Int"
    | "Boolean"
    | "DateTime"
    | "JSON"
    | "[String]"
    | "TriggerOverlap"
    | "MissedInstants"
    | "WebhookAccept";
  description: string;
  isRequired?: boolean;
};
export type Keys = Readonly<Record<string, Key>>;

/** A value that is wrong: which key of `given` (a path in dots), and a sentence that begins with a verb. */
export type Problems = { add(key: string, code: FieldProblem["code"], message: string): void };

/** The fate of a firing while the run of the one before is open. */
export type Overlap = "skip" | "queue" | "allow" | "cancelPrevious";

export type TriggerKind = {
  /** A sentence that says what starts a run. */
  description: string;
  /** The keys of the specification that are given. Another type's key is refused by name. */
  keys: Keys;
  /** Further sentences about how it fires. */
  policies: Keys;
  /** Callers start it by a URL with a token of its own. */
  hasUrl: boolean;
  /**
   * The keys as they are stored. They are of their types, and those that are required are there. What it adds to `problems` is
   * refused.
   */
  configure(given: JsonObject, problems: Problems): JsonObject;
  /** The same for the policy. */
  settle(given: JsonObject, problems: Problems): JsonObject;
  /** The specification's object without its `type`; `url` of a kind that has one. */
  show(configuration: JsonObject, url: string | undefined): JsonObject;
  /** The run's input: from the payload of the firing, if it has one, at the instant that it was due or came (ms). */
  inputOf(configuration: JsonObject, payload: JsonObject | undefined, at: number): JsonObject;
  /** Whether keys of the input that the agent's form does not know are dropped; else they are refused. */
  dropsUnknown: boolean;
  /** The fate of a firing while the run of the one before is open, unless its policy says otherwise. */
  overlap: Overlap;
  /** For how long a delivery is known, so that it starts one run however often it comes. */
  deliveryHours: number;
  /** How many triggers of an organization may have the same values of these keys: what happens fires them all. */
  shared?: { keys: readonly string[]; most: number };
  /**
   * Only of a kind that fires on what belongs to no single agent: throws if a narrowed API key reaches too little to make
   * such a trigger in the project.
   */
  checkNarrowed?(reach: Reach, projectId: ProjectId, configuration: JsonObject): void;
  /** Only of a kind that is due by itself; the clock fires it (due-clock.ts). */
  schedule?: {
    /** All throw CONFLICT where what was checked when it was set does not hold any longer. When it is due next, strictly after `after` (ms); null: never again. */
    next(trigger: Scheduled, after: number): Due | null;
    /** Decides at `now` about a trigger that has been due since `due` (ms). */
    dueNow(trigger: Scheduled, due: number, now: number): DueNow;
    /** The part that says when it is due: while that stays the same, what is due stays due. */
    timing(trigger: Timed): unknown;
    /** How many instants there are until `until`, the first of which is `due` (both ms). */
    count(trigger: Timed, due: number, until: number): number;
  };
};

export type Timed = { configuration: JsonObject; policy: JsonObject };
type Scheduled = Timed & { id: TriggerId };

/** `at`: the instant that it is due at; `wakesAt`: when the clock fires it, then or later (ms). */
export type Due = { at: number; wakesAt: number };

/** `skipped`: the instants that are dropped, from the first to the last (ms), and how many; `fire`: the one that fires now. */
export type DueNow = {
  skipped: { from: number; to: number; count: number } | undefined;
  fire: number | undefined;
};

const TYPES: Record<Key["api"], { words: string; fits: (value: Json) => boolean }> = {
  String: { words: "must be text", fits: (value) => typeof value === "string" },
  Int: { words: "must be a whole number", fits: (value) => Number.isSafeInteger(value) },
  Boolean: { words: "must be true or false", fits: (value) => typeof value === "boolean" },
  DateTime: { words: "must be a time", fits: (value) => typeof value === "string" },
  JSON: { words: "must be a JSON value", fits: () => true },
  TriggerOverlap: { words: "must be text", fits: (value) => typeof value === "string" },
  MissedInstants: { words: "must be text", fits: (value) => typeof value === "string" },
  WebhookAccept: { words: "must be text", fits: (value) => typeof value === "string" },
  "[String]": {
    words: "must be a list of texts",
    fits: (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
  },
};

export type Checking = {
  keys: Keys;
  /** For a key that is none of `keys`: a sentence that begins with a verb. */
  unknown: (key: string) => string;
  /** Where `given` is, in dots. */
  path: string;
  take: (given: JsonObject, problems: Problems) => JsonObject;
};

/** The stored form of `given`, in which null counts as absent. Adds what is wrong to `problems`. */
export function checkKeys(
  given: JsonObject,
  { keys, unknown, path, take }: Checking,
  problems: FieldProblem[],
): JsonObject {
  const before = problems.length;
  const at = (key: string): string => `${path}.${key}`;
  const present: JsonObject = {};
  for (const [key, value] of Object.entries(given)) {
    if (value === null) continue;
    const known = Object.hasOwn(keys, key) ? TYPES[keys[key]!.api] : undefined;
    if (!known) problems.push({ path: at(key), code: "unknown", message: unknown(key) });
    else if (!known.fits(value)) problems.push({ path: at(key), code: "wrong_type", message: known.words });
    else present[key] = value;
  }
  for (const [key, { isRequired }] of Object.entries(keys))
    if (isRequired && (given[key] ?? null) === null)
      problems.push({ path: at(key), code: "required", message: "is missing" });
  if (problems.length > before) return {};
  const kept = take(present, { add: (key, code, message) => problems.push({ path: at(key), code, message }) });
  if (Buffer.byteLength(JSON.stringify(kept)) > LIMITS.triggerBytes)
    problems.push({ path, code: "too_large", message: `must have at most ${LIMITS.triggerBytes} bytes as JSON` });
  return kept;
}
