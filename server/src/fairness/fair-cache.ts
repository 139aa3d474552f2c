/**
 * A cache of all organizations in a bounded memory. When it is full, the organization that holds most loses what it has used longest
 * ago: an organization displaces its own first, and never what another one holds less of.
 */
import type { OrganizationId } from "../lib/ids.ts";
import { Largest, unplaced, type Sized } from "./largest.ts";

/** Values in the order of their last use. */
type Own<Value> = Sized & { organizationId: OrganizationId; values: Map<string, Value>; newest?: string };

export class FairCache<Value> {
  readonly #most: number;
  readonly #sizeOf: (value: Value) => number;
  readonly #dropped: (key: string) => void;
  readonly #own = new Map<OrganizationId, Own<Value>>();
  readonly #bySize = new Largest<Own<Value>>();
  #size = 0;

  /** `most`: of all sizes together. `dropped`: called with each key that is forgotten; one whose value is replaced is not. */
  constructor(most: number, sizeOf: (value: Value) => number = () => 1, dropped: (key: string) => void = () => {}) {
    this.#most = most;
    this.#sizeOf = sizeOf;
    this.#dropped = dropped;
  }

  get(organizationId: OrganizationId, key: string): Value | undefined {
    const own = this.#own.get(organizationId);
    const value = own?.values.get(key);
    if (!own || value === undefined || own.newest === key) return value;
    own.values.delete(key);
    own.values.set(key, value);
    own.newest = key;
    return value;
  }

  set(organizationId: OrganizationId, key: string, value: Value): void {
    this.#remove(organizationId, key);
    const own = this.#own.get(organizationId) ?? this.#begin(organizationId);
    own.values.set(key, value);
    own.newest = key;
    this.#grow(own, this.#sizeOf(value));
    while (this.#size > this.#most) this.#dropOne();
  }

  delete(organizationId: OrganizationId, key: string): void {
    if (this.#remove(organizationId, key)) this.#dropped(key);
  }

  /** All that is remembered of the organization. */
  forget(organizationId: OrganizationId): void {
    const own = this.#own.get(organizationId);
    if (!own) return;
    for (const key of own.values.keys()) this.#dropped(key);
    this.#grow(own, -own.size);
    this.#own.delete(organizationId);
    this.#bySize.delete(own);
  }

  clear(): void {
    for (const organizationId of this.#own.keys()) this.forget(organizationId);
  }

  /** Returns whether it was there. */
  #remove(organizationId: OrganizationId, key: string): boolean {
    const own = this.#own.get(organizationId);
    const value = own?.values.get(key);
    if (!own || value === undefined) return false;
    own.values.delete(key);
    this.#grow(own, -this.#sizeOf(value));
    if (own.values.size > 0) return true;
    this.#own.delete(organizationId);
    this.#bySize.delete(own);
    return true;
  }

  #begin(organizationId: OrganizationId): Own<Value> {
    const own = { organizationId, values: new Map<string, Value>(), ...unplaced };
    this.#own.set(organizationId, own);
    this.#bySize.add(own);
    return own;
  }

  #grow(own: Own<Value>, by: number): void {
    own.size += by;
    this.#size += by;
    this.#bySize.moved(own);
  }

  #dropOne(): void {
    const { organizationId, values } = this.#bySize.first!;
    this.delete(organizationId, values.keys().next().value!);
  }
}
