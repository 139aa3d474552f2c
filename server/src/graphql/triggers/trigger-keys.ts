/** The keys of a trigger's configuration and policy, as the API shows them. */
import type { JsonObject } from "../../lib/json/json.ts";
import type { Key } from "../../triggers/kinds/contract/trigger-kind.ts";
import type { Enums } from "../builder/enums.ts";

/** A key's type. One type stands for all, because the builder would want to know each. */
export const shownAs = (enums: Enums, { api }: Key): "String" => {
  if (api === "TriggerOverlap" || api === "MissedInstants" || api === "WebhookAccept")
    return enums[api] as unknown as "String";
  return (api === "[String]" ? ["String"] : api) as "String";
};

/** A time is kept as text. */
export const shownOf = (values: JsonObject, name: string, { api }: Key): unknown => {
  const value = values[name] ?? null;
  return api === "DateTime" && value !== null ? new Date(value as string) : value;
};
