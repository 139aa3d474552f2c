/** Every kind of trigger, one line each. */
import { shortened, type FieldProblem } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { cron } from "./cron.ts";
import { event } from "./event.ts";
import { webhook } from "./webhook.ts";
import { checkKeys, type Keys, type TriggerKind } from "./contract/trigger-kind.ts";

export const KINDS = { cron, webhook, event } as const satisfies Record<string, TriggerKind>;
export type TriggerType = keyof typeof KINDS;
export const TRIGGER_TYPES = Object.keys(KINDS) as TriggerType[];

export const kindOf = (type: TriggerType): TriggerKind => KINDS[type];

/** The keys of all kinds; one that several have is of one type. */
export const keysOf = (of: "keys" | "policies"): Keys =>
  Object.assign({}, ...TRIGGER_TYPES.map((type) => kindOf(type)[of]));

/** Which kinds take a key, as `cron or event`. */
function typesWith(of: "keys" | "policies", key: string): string {
  return TRIGGER_TYPES.filter((type) => Object.hasOwn(kindOf(type)[of], key)).join(" or ");
}

/** Says whose key it is. */
const foreign =
  (type: TriggerType, of: "keys" | "policies") =>
  (key: string): string => {
    const types = typesWith(of, key);
    if (types !== "")
      return `belongs to triggers of type ${types}: leave it out, because this trigger is of type ${type}`;
    const own = Object.keys(kindOf(type)[of]);
    return `is not known${own.length > 0 ? `: a trigger of type ${type} takes ${own.join(", ")}` : ""}`;
  };

export type Given = { type: TriggerType; keys: JsonObject; policy: JsonObject };
/** Where what is given stands, in dots. */
export type GivenAt = { keys: string; policy: string };
/** In the API's mutations. */
export const GIVEN_AT: GivenAt = { keys: "input.trigger", policy: "input.policy" };

/** The stored form of the given keys. Adds what is wrong with them to `problems`. */
export const configured = (
  { type, keys, policy }: Given,
  at: GivenAt,
  problems: FieldProblem[],
): { configuration: JsonObject; policy: JsonObject } => ({
  configuration: checkedKeys(type, keys, at.keys, problems),
  policy: checkedPolicy(type, policy, at.policy, problems),
});

/** The same for the configuration alone; `path`: where it stands. */
export const checkedKeys = (type: TriggerType, given: JsonObject, path: string, problems: FieldProblem[]): JsonObject =>
  check(type, "keys", { given, path, take: (...all) => kindOf(type).configure(...all) }, problems);

/** The same for the policy alone. */
export const checkedPolicy = (
  type: TriggerType,
  given: JsonObject,
  path: string,
  problems: FieldProblem[],
): JsonObject => check(type, "policies", { given, path, take: (...all) => kindOf(type).settle(...all) }, problems);

function check(
  type: TriggerType,
  of: "keys" | "policies",
  { given, path, take }: { given: JsonObject; path: string; take: TriggerKind["configure"] },
  problems: FieldProblem[],
): JsonObject {
  const unknown = (key: string): string => foreign(type, of)(shortened(key));
  return checkKeys(given, { keys: kindOf(type)[of], unknown, path, take }, problems);
}
