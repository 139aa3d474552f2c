/** Every kind of trigger, one line each. */
import { shortened, type FieldProblem } from "../lib/errors.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { cron } from "./kinds/cron.ts";
import { event } from "./kinds/event.ts";
import { webhook } from "./kinds/webhook.ts";
import { checkKeys, type Keys, type TriggerKind } from "./trigger-kind.ts";

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
type GivenAt = { keys: string; policy: string };
/** In the API's mutations. */
export const GIVEN_AT: GivenAt = { keys: "input.trigger", policy: "input.policy" };

/** What is kept of what is given. Adds what is wrong with it to `problems`. */
export function configured(
  { type, keys, policy }: Given,
  at: GivenAt,
  problems: FieldProblem[],
): { configuration: JsonObject; policy: JsonObject } {
  const kind = kindOf(type);
  const check = (given: JsonObject, of: "keys" | "policies", path: string, take: TriggerKind["configure"]) =>
    checkKeys(given, { keys: kind[of], unknown: (key) => foreign(type, of)(shortened(key)), path, take }, problems);
  return {
    configuration: check(keys, "keys", at.keys, (...all) => kind.configure(...all)),
    policy: check(policy, "policies", at.policy, (...all) => kind.settle(...all)),
  };
}
