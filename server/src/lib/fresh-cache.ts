/**
 * Returns from memory what a database row said at most `ttlMs` ago. A process sees its own changes at once through
 * `forget`, another's when notified or within `ttlMs`. Concurrent requests for one key share one load. `undefined` is
 * never kept, so a new object is found as soon as it exists.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "./clock.ts";

export type FreshCache<Key, Value> = {
  get(key: Key): Promise<Value | undefined>;
  /** The cached value, without a load. */
  peek(key: Key): Value | undefined;
  forget(key: Key): void;
  /** Forgets each entry that fits; `value` is undefined while it is loaded. Looks at all of them. */
  forgetEach(fits: (key: Key, value: Value | undefined) => boolean): void;
  clear(): void;
};

type Options<Key, Value> = {
  clock: Clock;
  ttlMs: number;
  /** Entries kept; the least recently used go first. */
  most: number;
  load: (key: Key) => Promise<Value | undefined>;
};

export function createFreshCache<Key extends string, Value>(options: Options<Key, Value>): FreshCache<Key, Value> {
  const { clock, ttlMs, most } = options;
  const kept = new LRUCache<Key, { value: Value; readAt: number }>({ max: most });
  const loading = new Map<Key, Promise<Value | undefined>>();

  const peek = (key: Key): Value | undefined => {
    const entry = kept.get(key);
    // A clock that was set back keeps nothing longer.
    return entry && Math.abs(clock.now() - entry.readAt) < ttlMs ? entry.value : undefined;
  };

  const load = (key: Key): Promise<Value | undefined> => {
    // Fresh for ttlMs from before the read: the row may have changed just after it.
    const readAt = clock.now();
    const promise = options.load(key).then(
      (value) => {
        // A load overtaken by `forget` may have read the row before the change, so its answer is not kept.
        if (loading.get(key) === promise) keep(key, value, readAt);
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

  const keep = (key: Key, value: Value | undefined, readAt: number): void => {
    loading.delete(key);
    if (value === undefined) kept.delete(key);
    else kept.set(key, { value, readAt });
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
    forgetEach: (fits) => {
      const fitting: Key[] = [];
      for (const [key, { value }] of kept.entries()) if (fits(key, value)) fitting.push(key);
      for (const key of fitting) kept.delete(key);
      for (const key of loading.keys()) if (fits(key, undefined)) loading.delete(key);
    },
    clear: () => {
      kept.clear();
      loading.clear();
    },
  };
}
