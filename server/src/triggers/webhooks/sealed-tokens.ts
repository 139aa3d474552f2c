import { encodeId } from "../../lib/ids.ts";
import type { Sealer } from "../../secrets/seal.ts";
import type { Sealed } from "../../secrets/rotate-key.ts";
import { lockSealedTokens, updateSealedTokens, type SealedToken } from "./token-store.ts";

/** The tokens of webhooks, for a rotation of the key that they are sealed with. */
export const sealedTokens = (sealer: Sealer): Sealed<SealedToken> => ({
  sealer,
  lock: lockSealedTokens,
  update: updateSealedTokens,
  unopened: ({ triggerId }) =>
    `a webhook token of the trigger ${encodeId("trigger", triggerId)} does not open with this installation's key: rotate it without an overlap`,
});
