/** A POST to the trigger's URL. */
import { isObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { ACCEPT_KEY, settleAccept } from "./webhook/accept.ts";
import { ADDRESSES_KEY, settleAddresses } from "./webhook/addresses.ts";
import { FILTER_KEY, settleFilter } from "./webhook/body-filter.ts";
import { CALL_VARIABLES } from "./webhook/call-parts.ts";
import { DELIVERY_HEADER_KEY, settleDeliveryHeader } from "./webhook/delivery-name.ts";
import { MAPPING_KEY, settleMapping } from "./contract/mapping.ts";
import { OVERLAP_KEY, settleOverlap } from "./contract/overlap.ts";
import { settleSignature, SIGNATURE_KEY } from "./webhook/signature.ts";
import type { TriggerKind } from "./contract/trigger-kind.ts";

const METHOD = "POST";
const AUTHENTICATION = "bearer_token";

export const webhook: TriggerKind = {
  description: "A request to the trigger's URL.",
  keys: {
    method: { api: "String", description: `The HTTP method of the request. Default, and only value: \`${METHOD}\`.` },
    authentication: {
      api: "JSON",
      description: `How a sender authenticates. Default, and only value: \`{type: "${AUTHENTICATION}"}\`. The token is in the URL.`,
    },
  },
  policies: {
    overlap: OVERLAP_KEY,
    mapping: MAPPING_KEY,
    filter: FILTER_KEY,
    accept: ACCEPT_KEY,
    signature: SIGNATURE_KEY,
    allowedAddresses: ADDRESSES_KEY,
    deliveryHeader: DELIVERY_HEADER_KEY,
  },
  hasUrl: true,
  dropsUnknown: true,
  overlap: "allow",
  deliveryHours: LIMITS.idempotencyHours,
  configure({ method = METHOD, authentication = { type: AUTHENTICATION } }, problems) {
    if (method !== METHOD) problems.add("method", "not_a_choice", `must be ${METHOD}`);
    if (!isObject(authentication) || authentication["type"] !== AUTHENTICATION)
      problems.add("authentication.type", "not_a_choice", `must be ${AUTHENTICATION}`);
    else
      for (const key of Object.keys(authentication))
        if (key !== "type") problems.add(`authentication.${key}`, "unknown", "is not known: it takes type");
    return { method, authentication };
  },
  settle: (given, problems) => ({
    ...settleOverlap(given, problems),
    ...settleMapping(given, problems, CALL_VARIABLES),
    ...settleFilter(given, problems),
    ...settleAccept(given, problems),
    ...settleSignature(given, problems),
    ...settleAddresses(given, problems),
    ...settleDeliveryHeader(given, problems),
  }),
  show: ({ method, authentication }, url) => ({ url: url!, method: method!, authentication: authentication! }),
  inputOf: (_, payload) => payload ?? {},
};
