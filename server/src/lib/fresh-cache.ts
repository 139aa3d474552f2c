/**
 * Answers from memory what a database row said at most `ttlMs` ago. One process's own changes are seen at once through
 * `forget`; another process's when it tells, and within `ttlMs`. Many askers of one key share one load. `undefined` is
 * never kept, so what did not exist a moment ago is found as soon as it does.
 */
import type { Clock } from "./clock.ts";
import type { OrganizationId } from "./ids.ts";

/** Tells other processes to forget what they remember of it. */
export type TellChange = (kind: "agent" | "apiKey" | "session", organizationId: OrganizationId, id: string) => void;

export type FreshCache<Key, Value> = {
  get(key: Key): Promise<Value | undefined>;
  /** The remembered value, without a load. */
  peek(key: Key): Value | undefined;
  forget(key: Key): void;
  clear(): void;
};

type Options<Key, Value> = {
  clock: Clock;
  ttlMs: number;
  /** Entries kept; the ones longest unused go first. */
  most: number;
  load: (key: Key) => Promise<Value | undefined>;
};

export function createFreshCache<Key, Value>(options: Options<Key, Value>): FreshCache<Key, Value> {
  const { clock, ttlMs, most } = options;
  const kept = new Map<Key, { value: Value; until: number }>();
  const loading = new Map<Key, Promise<Value | undefined>>();

  const peek = (key: Key): Value | undefined => {
    const entry = kept.get(key);
    if (!entry || entry.until <= clock.now()) return undefined;
    kept.delete(key);
    kept.set(key, entry);
    return entry.value;
  };

  const load = (key: Key): Promise<Value | undefined> => {
    // Fresh for ttlMs from before the read: the row may have changed just after it.
    const until = clock.now() + ttlMs;
    const promise = options.load(key).then(
      (value) => {
        // A load that `forget` overtook may have read the row before the change: its answer is not kept.
        if (loading.get(key) === promise) keep(key, value, until);
        return value;
      },
      (error: unknown) => {
        if (loading.get(key) === promise) loading.delete(key);
        throw error;
      },
    );
    loading.set(key, promise);
    return promise;
  };

  const keep = (key: Key, value: Value | undefined, until: number): void => {
    loading.delete(key);
    kept.delete(key);
    if (value === undefined) return;
    kept.set(key, { value, until });
    if (kept.size > most) kept.delete(kept.keys().next().value as Key);
  };

  return {
    peek,
    get: (key) => {
      const value = peek(key);
      return value === undefined ? (loading.get(key) ?? load(key)) : Promise.resolve(value);
    },
    forget: (key) => {
      kept.delete(key);
      loading.delete(key);
    },
    clear: () => {
      kept.clear();
      loading.clear();
    },
  };
}
