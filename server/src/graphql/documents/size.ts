/** Limits that are counted on the text and the bare syntax tree, before anything that takes longer on large ones. */
import {
  Kind,
  visit,
  type DocumentNode,
  type FragmentDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
} from "graphql";
import { Refusal } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";

const tooLarge = (message: string): Refusal => new Refusal("QUERY_TOO_COMPLEX", message);

/** Nesting of brackets outside strings and comments: parser and validation recurse. */
export function nestingOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 34) index = endOfString(text, index);
    else if (code === 35) index = endOfLine(text, index);
    else if (code === 123 || code === 91 || code === 40) deepest = Math.max(deepest, ++depth);
    else if (code === 125 || code === 93 || code === 41) depth--;
  }
  return deepest;
}

/** Index of the last character of the string that begins at `start`; block strings end at `"""`. */
function endOfString(text: string, start: number): number {
  const isBlock = text.startsWith('"""', start);
  for (let index = start + (isBlock ? 3 : 1); index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (isBlock) {
      if (text.startsWith('\\"""', index)) index += 3;
      else if (text.startsWith('"""', index)) return index + 2;
    } else if (code === 92) index++;
    else if (code === 34 || code === 10 || code === 13) return index;
  }
  return text.length;
}

function endOfLine(text: string, start: number): number {
  const match = /[\n\r]/g;
  match.lastIndex = start;
  return match.exec(text)?.index ?? text.length;
}

type Fragments = Map<string, FragmentDefinitionNode>;

export const fragmentsOf = (document: DocumentNode): Fragments =>
  new Map(
    document.definitions.flatMap((one) =>
      one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one] as const] : [],
    ),
  );

/**
 * Throws QUERY_TOO_COMPLEX. The document's fragments have no cycles; otherwise the document need not be valid. What is counted here
 * bounds every later walk: validation compares fields of one name pair by pair, and some walks visit a fragment once for
 * each place that it is spread in.
 */
export function checkSize(document: DocumentNode): { aliases: number } {
  const written: Written = { aliases: 0, longest: 0, directives: 0, names: new Map() };
  const walk: Walk = { fragments: fragmentsOf(document), known: new Map() };
  const spread: Spread = { depth: 0, selections: 0 };
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION && definition.kind !== Kind.FRAGMENT_DEFINITION) continue;
    written.directives += definition.directives?.length ?? 0;
    count(definition.selectionSet, written);
    if (definition.kind === Kind.OPERATION_DEFINITION) add(spread, measure(walk, definition.selectionSet));
  }
  const repeats = Math.max(0, ...written.names.values());
  hold("levels", spread.depth, LIMITS.queryDepth);
  hold("aliases", written.aliases, LIMITS.queryAliases);
  hold("characters in an alias", written.longest, LIMITS.aliasCharacters);
  hold("directives", written.directives, LIMITS.queryDirectives);
  hold("fields of one name", repeats, LIMITS.queryRepeats);
  hold("selections with its fragments spread", spread.selections, LIMITS.querySelections);
  return written;
}

function hold(what: string, found: number, most: number): void {
  if (found > most) throw tooLarge(`the query has ${found} ${what}, and the maximum is ${most}`);
}

/** The document as it is written. `longest`: characters of an alias. `names`: how often each response name occurs. */
type Written = { aliases: number; longest: number; directives: number; names: Map<string, number> };

function count(set: SelectionSetNode, written: Written): void {
  for (const selection of set.selections) {
    written.directives += selection.directives?.length ?? 0;
    if (selection.kind === Kind.FIELD) {
      if (selection.alias) {
        written.aliases++;
        written.longest = Math.max(written.longest, selection.alias.value.length);
      }
      const name = (selection.alias ?? selection.name).value;
      written.names.set(name, (written.names.get(name) ?? 0) + 1);
    }
    if (selection.kind !== Kind.FRAGMENT_SPREAD && selection.selectionSet) count(selection.selectionSet, written);
  }
}

/** The document as it would be with each fragment written out where it is spread. */
type Spread = { depth: number; selections: number };
type Walk = { fragments: Fragments; known: Map<string, Spread> };

function add(to: Spread, { depth, selections }: Spread): void {
  to.depth = Math.max(to.depth, depth);
  to.selections += selections;
}

function measure(walk: Walk, set: SelectionSetNode): Spread {
  const spread = { depth: 0, selections: 0 };
  for (const selection of set.selections) {
    spread.selections++;
    if (selection.kind === Kind.FRAGMENT_SPREAD) add(spread, measureFragment(walk, selection.name.value));
    else if (selection.kind === Kind.INLINE_FRAGMENT) add(spread, measure(walk, selection.selectionSet));
    else {
      const below = selection.selectionSet ? measure(walk, selection.selectionSet) : { depth: 0, selections: 0 };
      // Below `__schema` and `__type` depth doesn't count: the standard introspection query is 15 deep, and has a rule of its own.
      const depth = selection.name.value.startsWith("__") ? 1 : 1 + below.depth;
      add(spread, { depth, selections: below.selections });
    }
  }
  return spread;
}

function measureFragment(walk: Walk, name: string): Spread {
  const known = walk.known.get(name);
  if (known) return known;
  const fragment = walk.fragments.get(name);
  const spread = fragment ? measure(walk, fragment.selectionSet) : { depth: 0, selections: 0 };
  walk.known.set(name, spread);
  return spread;
}

/** How often each variable occurs within a list or an object of the document, if more than once. */
export function repeatsOf(document: DocumentNode): Map<string, number> {
  const repeats = new Map<string, number>();
  const add = (value: ValueNode): void => {
    if (value.kind === Kind.VARIABLE) repeats.set(value.name.value, (repeats.get(value.name.value) ?? 0) + 1);
  };
  visit(document, { ListValue: ({ values }) => values.forEach(add), ObjectField: ({ value }) => add(value) });
  for (const [name, times] of repeats) if (times === 1) repeats.delete(name);
  return repeats;
}
