/** The patterns of `as`: `$x`, `[$a, $b]`, `{a: $x, $y, (key): $z}`, and alternatives of them. */
import type { Cursor } from "./cursor.ts";
import type { Node, Pattern } from "./syntax.ts";

/** `key` reads an object key that is not a variable. */
export function parsePatterns(cursor: Cursor, key: () => Node): Pattern {
  const first = parsePattern(cursor, key);
  if (!cursor.sees("?//")) return first;
  const all = [first];
  while (cursor.accept("?//")) all.push(parsePattern(cursor, key));
  return joined(all);
}

const joined = (patterns: Pattern[]): Pattern => ({
  names: patterns.flatMap(({ names }) => names),
  keys: patterns.flatMap(({ keys }) => keys),
});

function parsePattern(cursor: Cursor, key: () => Node): Pattern {
  return cursor.nested(() => {
    if (cursor.token.kind === "variable") {
      const single = cursor.take("variable");
      return { names: [single], keys: [], single };
    }
    const isObject = cursor.accept("{");
    if (!isObject) cursor.expect("[");
    const all: Pattern[] = [];
    do all.push(isObject ? parseEntry(cursor, key) : parsePattern(cursor, key));
    while (cursor.accept(","));
    cursor.expect(isObject ? "}" : "]");
    return joined(all);
  });
}

function parseEntry(cursor: Cursor, key: () => Node): Pattern {
  const own: Pattern = { names: [], keys: [] };
  if (cursor.token.kind === "variable") {
    own.names.push(cursor.take("variable"));
    if (!cursor.accept(":")) return own;
  } else {
    own.keys.push(key());
    cursor.expect(":");
  }
  return joined([own, parsePattern(cursor, key)]);
}
