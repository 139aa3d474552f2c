/** A step's key is the path of the tasks around it (`loop#1/2/greet#1`). */

/** The key of the step around a key (`loop#1` of `loop#1/2/greet#1`); empty: there is none. */
export function enclosing(key: string): string {
  let end = key.lastIndexOf("/");
  // The number of an item, or the way into a catch.
  while (end > 0 && !key.slice(key.lastIndexOf("/", end - 1) + 1, end).includes("#"))
    end = key.lastIndexOf("/", end - 1);
  return key.slice(0, Math.max(0, end));
}

/** The keys around any of these steps, each looked at once. */
export function allAround(steps: Iterable<{ key: string }>): Set<string> {
  const around = new Set<string>();
  for (const step of steps) {
    let key = enclosing(step.key);
    while (key !== "" && !around.has(key)) {
      around.add(key);
      key = enclosing(key);
    }
  }
  return around;
}
