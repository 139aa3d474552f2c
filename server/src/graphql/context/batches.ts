/** Look-ups within one turn of the event loop, made one statement. Nothing is kept between turns. */
import { notFound } from "../../lib/errors.ts";

export type Loader<Key, Value> = (key: Key) => Promise<Value>;

/** For keys that are objects: the same value is read once, however many aliases ask for it. `nameOf` tells keys apart. */
export function keyed<Key, Value>(
  what: string,
  nameOf: (key: Key) => string,
  read: (keys: Key[]) => Promise<(Value | undefined)[]>,
): Loader<Key, Value> {
  let asked: Map<string, Key> | undefined;
  const load = batched<string, Value>(what, async (names) => {
    const keys = names.map((name) => asked!.get(name)!);
    asked = undefined;
    const values = await read(keys);
    return new Map(
      names.flatMap((name, index) => (values[index] === undefined ? [] : [[name, values[index]] as const])),
    );
  });
  return (key) => {
    const name = nameOf(key);
    asked = (asked ?? new Map<string, Key>()).set(name, key);
    return load(name);
  };
}

/** Null for a key that `load` does not answer. */
export const orNull = <Key, Value>(
  what: string,
  load: (keys: Key[]) => Promise<Map<Key, Value>>,
): Loader<Key, Value | null> =>
  batched(what, async (keys) => {
    const found = await load(keys);
    return new Map(keys.map((key) => [key, found.get(key) ?? null]));
  });

/** Throws NOT_FOUND for a key that `load` does not answer. */
export function batched<Key, Value>(what: string, load: (keys: Key[]) => Promise<Map<Key, Value>>): Loader<Key, Value> {
  let batch: { keys: Set<Key>; values: Promise<Map<Key, Value>> } | undefined;
  return async (key) => {
    if (!batch) {
      const keys = new Set<Key>();
      const start = async (): Promise<Map<Key, Value>> => {
        await new Promise(setImmediate);
        batch = undefined;
        return load([...keys]);
      };
      batch = { keys, values: start() };
    }
    batch.keys.add(key);
    const value = (await batch.values).get(key);
    if (value === undefined) throw notFound(what);
    return value;
  };
}
