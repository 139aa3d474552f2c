/**
 * From a webhook's path to its trigger. Every unknown path gets the same answer after the same work, whether the
 * agent, the token or the trigger is unknown or was: the answer and its time must not tell which (bench/unknown-webhooks.ts).
 */
import { LRUCache } from "lru-cache";
import { createLookUps, type LookUp } from "../../auth/handle/look-ups.ts";
import type { Clock } from "../../lib/clock.ts";
import { decodeId, NO_ID, type OrganizationId } from "../../lib/ids.ts";
import { allOf } from "../../lib/reach.ts";
import { FairCache } from "../../fairness/fair-cache.ts";
import type { Database } from "../../storage/database.ts";
import { readTriggerRows } from "../store/trigger-store.ts";
import { findTokens, type TokenPlace } from "./token-store.ts";
import { hashToken } from "./token.ts";
import type { Trigger } from "../store/trigger.ts";

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

export class KnownWebhooks {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #kept: FairCache<Kept & { bytes: number }>;
  /** A path does not say whose it is. */
  readonly #owners = new Map<string, OrganizationId>();
  readonly #changes = new Changes();
  readonly #lookUp: LookUp<TokenPlace>;
  /** Many that come at the same time read it once. */
  readonly #reading = new Map<string, Promise<Trigger | undefined>>();

  constructor(database: Database, clock: Clock, mostBytes = REMEMBERED_BYTES) {
    this.#database = database;
    this.#clock = clock;
    this.#kept = new FairCache(
      mostBytes,
      ({ bytes }) => bytes,
      (key) => this.#owners.delete(key),
    );
    this.#lookUp = createLookUps("webhook tokens", (asked) => findTokens(database, asked, clock.now()));
  }

  /** `address`: of the client. Undefined when there is none. Throws UNAVAILABLE when too many wait to be looked up. */
  async find(path: WebhookPath, address: string): Promise<Trigger | undefined> {
    const key = keyOf(path);
    const known = this.#recall(key);
    const now = this.#clock.now();
    if (known && known.until > now && (!known.expiresAt || known.expiresAt.getTime() > now)) return known.trigger;
    const until = now + TTL_MS;
    const asOf = this.#changes.last;
    const place = await this.#lookUp(Buffer.from(key, "hex"), address);
    const trigger = place && (await this.#read(place));
    // A row that was read before a change is not cached after it.
    if ((place ? this.#changes.lastOf(place.organizationId) : this.#changes.last) > asOf) return trigger;
    if (trigger) {
      const { organizationId, expiresAt } = place;
      const found = { trigger, expiresAt, until };
      // Before it is cached: the cache may drop it at once.
      this.#owners.set(key, organizationId);
      this.#kept.set(organizationId, key, { ...found, bytes: bytesOf(found) });
    } else if (known) this.#kept.delete(known.trigger.organizationId, key);
    return trigger;
  }

  /** The webhook's organization, if it was found before and is remembered. */
  recall(path: WebhookPath): OrganizationId | undefined {
    return this.#owners.get(keyOf(path));
  }

  /** After a change of any of its triggers. */
  forget(organizationId: OrganizationId): void {
    this.#changes.add(organizationId);
    this.#kept.forget(organizationId);
  }

  /** Changes may have been missed. */
  forgetAll(): void {
    this.#changes.addAll();
    this.#kept.clear();
  }

  #recall(key: string): Kept | undefined {
    const organizationId = this.#owners.get(key);
    return organizationId && this.#kept.get(organizationId, key);
  }

  #read({ organizationId, triggerId }: TokenPlace): Promise<Trigger | undefined> {
    const key = `${this.#changes.lastOf(organizationId)} ${triggerId}`;
    const promise =
      this.#reading.get(key) ??
      readTriggerRows(this.#database, allOf(organizationId), [triggerId])
        .then((found) => found.get(triggerId))
        .finally(() => this.#reading.delete(key));
    this.#reading.set(key, promise);
    return promise;
  }
}

/** Numbers the changes, and knows the last one of each organization. */
class Changes {
  last = 0;
  /** No organization that is not in `#lasts` has changed since. */
  #lastOfOthers = 0;
  readonly #lasts = new LRUCache<OrganizationId, number>({
    max: CHANGES_REMEMBERED,
    dispose: (change, _, reason) => {
      if (reason === "evict") this.#lastOfOthers = Math.max(this.#lastOfOthers, change);
    },
  });

  lastOf(organizationId: OrganizationId): number {
    return this.#lasts.get(organizationId) ?? this.#lastOfOthers;
  }

  add(organizationId: OrganizationId): void {
    this.#lasts.set(organizationId, ++this.last);
  }

  /** A change of any organization. */
  addAll(): void {
    this.#lastOfOthers = ++this.last;
    this.#lasts.clear();
  }
}

function keyOf({ agent, token }: WebhookPath): string {
  // Looked up like any other where there can be none.
  const agentId = decodeId("agent", agent) ?? NO_ID;
  return `${hashToken(token)}${agentId.replaceAll("-", "")}`;
}
