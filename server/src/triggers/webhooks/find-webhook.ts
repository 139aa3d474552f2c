/**
 * From a webhook's path to its trigger. What is not found is not found in the same way and after the same work, whether the
 * agent, the token or the trigger is unknown or was: the answer and its time must not tell which (bench/unknown-webhooks.ts).
 */
import { LRUCache } from "lru-cache";
import { createLookUps } from "../../auth/handle/look-ups.ts";
import type { Clock } from "../../lib/clock.ts";
import { decodeId, NO_ID, type OrganizationId } from "../../lib/ids.ts";
import { allOf } from "../../lib/reach.ts";
import { FairCache } from "../../fairness/fair-cache.ts";
import type { Database } from "../../storage/database.ts";
import { readTriggerRows } from "../store/trigger-store.ts";
import { findTokens, type TokenPlace } from "./token-store.ts";
import { hashToken } from "./token.ts";
import type { Trigger } from "../store/trigger.ts";

export type KnownWebhooks = {
  /** `address`: of the client. Undefined when there is none. Throws UNAVAILABLE when too many wait to be looked up. */
  find(path: WebhookPath, address: string): Promise<Trigger | undefined>;
  /** The webhook's organization, if it was found before and is remembered. */
  recall(path: WebhookPath): OrganizationId | undefined;
  /** After a change of any of its triggers. */
  forget(organizationId: OrganizationId): void;
  /** Changes may have been missed. */
  forgetAll(): void;
};

export type WebhookPath = { agent: string; token: string };

/** A change in another process is seen after this, if its notice is lost. */
const TTL_MS = 5_000;
const REMEMBERED_BYTES = 16 * 1024 * 1024;
/** About what an entry takes besides the texts in it. */
const ENTRY_BYTES = 1_000;
/** Organizations; of more, a change of one counts as one of all that are not among them. */
const CHANGES_REMEMBERED = 10_000;
/** `until`: when it is looked up again, ms. */
type Kept = { trigger: Trigger; expiresAt: Date | null; until: number };

const bytesOf = ({ trigger: { name, configuration, policy } }: Kept): number =>
  ENTRY_BYTES + 2 * (name.length + JSON.stringify([configuration, policy]).length);

export function createKnownWebhooks(database: Database, clock: Clock, mostBytes = REMEMBERED_BYTES): KnownWebhooks {
  /** A path does not say whose it is. */
  const owners = new Map<string, OrganizationId>();
  const kept = new FairCache<Kept & { bytes: number }>(
    mostBytes,
    ({ bytes }) => bytes,
    (key) => owners.delete(key),
  );
  const lookUp = createLookUps("webhook tokens", (asked) => findTokens(database, asked, clock.now()));

  const recall = (key: string): Kept | undefined => {
    const organizationId = owners.get(key);
    return organizationId && kept.get(organizationId, key);
  };

  /** Many that come at the same time read it once. */
  const reading = new Map<string, Promise<Trigger | undefined>>();
  const read = ({ organizationId, triggerId }: TokenPlace): Promise<Trigger | undefined> => {
    const key = `${lastChangeOf(organizationId)} ${triggerId}`;
    const promise =
      reading.get(key) ??
      readTriggerRows(database, allOf(organizationId), [triggerId])
        .then((found) => found.get(triggerId))
        .finally(() => reading.delete(key));
    reading.set(key, promise);
    return promise;
  };

  let changes = 0;
  /** No organization that is not among these has changed since. */
  let othersChanged = 0;
  const changed = new LRUCache<OrganizationId, number>({
    max: CHANGES_REMEMBERED,
    dispose: (change, _, reason) => {
      if (reason === "evict") othersChanged = Math.max(othersChanged, change);
    },
  });
  const lastChangeOf = (organizationId: OrganizationId): number => changed.get(organizationId) ?? othersChanged;

  return {
    async find(path, address) {
      const key = keyOf(path);
      const known = recall(key);
      const now = clock.now();
      if (known && known.until > now && (!known.expiresAt || known.expiresAt.getTime() > now)) return known.trigger;
      const until = now + TTL_MS;
      const asOf = changes;
      const place = await lookUp(Buffer.from(key, "hex"), address);
      const trigger = place && (await read(place));
      // A row that was read before a change is not cached after it.
      if (place ? lastChangeOf(place.organizationId) > asOf : asOf !== changes) return trigger;
      if (trigger) {
        const { organizationId, expiresAt } = place;
        const found = { trigger, expiresAt, until };
        kept.set(organizationId, key, { ...found, bytes: bytesOf(found) });
        owners.set(key, organizationId);
      } else if (known) kept.delete(known.trigger.organizationId, key);
      return trigger;
    },
    recall: (path) => owners.get(keyOf(path)),
    forget: (organizationId) => {
      changed.set(organizationId, ++changes);
      kept.forget(organizationId);
    },
    forgetAll: () => {
      othersChanged = ++changes;
      changed.clear();
      kept.clear();
    },
  };
}

function keyOf({ agent, token }: WebhookPath): string {
  // Looked up like any other where there can be none.
  const agentId = decodeId("agent", agent) ?? NO_ID;
  return `${hashToken(token)}${agentId.replaceAll("-", "")}`;
}
