/** From which addresses a webhook may be called. */
import { addressesIn, isAddressRange } from "../../../lib/address-ranges.ts";
import { Refusal } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";
import type { Key, Problems } from "../contract/trigger-kind.ts";

export const ADDRESSES_KEY: Key = {
  api: "[String]",
  description: `IP addresses and ranges (CIDR) that may call the webhook, at most ${LIMITS.webhookAddresses}; others are refused. Default: any may call.`,
};

/** The addresses as they are stored. */
export function settleAddresses({ allowedAddresses }: JsonObject, problems: Problems): JsonObject {
  if (allowedAddresses === undefined) return {};
  const ranges = allowedAddresses as string[];
  const key = "allowedAddresses";
  if (ranges.length === 0) problems.add(key, "too_few", "must have one address at least: leave it out to let any call");
  if (ranges.length > LIMITS.webhookAddresses)
    problems.add(key, "too_many", `must have at most ${LIMITS.webhookAddresses} addresses`);
  else
    ranges.forEach((range, index) => {
      if (!isAddressRange(range))
        problems.add(`${key}.${index}`, "invalid", "must be an IP address or a range like 192.0.2.0/24");
    });
  return { allowedAddresses: ranges };
}

/** Throws FORBIDDEN. */
export function checkAddress({ allowedAddresses }: JsonObject, address: string): void {
  if (allowedAddresses === undefined || addressesIn(allowedAddresses as string[])(address)) return;
  throw new Refusal("FORBIDDEN", "this address may not call the webhook");
}
