/** Limits that are counted on the text and the bare syntax tree, before anything that takes longer on large ones. */
import { Kind, type DocumentNode, type FragmentDefinitionNode, type SelectionSetNode } from "graphql";
import { Refusal } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";

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

type Size = { aliases: number; directives: number };
type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

export const fragmentsOf = (document: DocumentNode): Fragments =>
  new Map(
    document.definitions.flatMap((one) =>
      one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one] as const] : [],
    ),
  );

/** Throws QUERY_TOO_COMPLEX. Works on documents that are not validated: unknown fragments and cycles are passed over. */
export function checkSize(document: DocumentNode): void {
  const fragments = fragmentsOf(document);
  const size: Size = { aliases: 0, directives: 0 };
  const depths = new Map<string, number>();
  let depth = 0;
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION && definition.kind !== Kind.FRAGMENT_DEFINITION) continue;
    size.directives += definition.directives?.length ?? 0;
    count(definition.selectionSet, size);
    if (definition.kind === Kind.OPERATION_DEFINITION) {
      depth = Math.max(depth, depthOf(definition.selectionSet, fragments, depths));
    }
  }
  hold("levels", depth, LIMITS.queryDepth);
  hold("aliases", size.aliases, LIMITS.queryAliases);
  hold("directives", size.directives, LIMITS.queryDirectives);
}

function hold(what: string, found: number, most: number): void {
  if (found > most) throw tooLarge(`the query has ${found} ${what}, and ${most} is the most`);
}

function count(set: SelectionSetNode, size: Size): void {
  for (const selection of set.selections) {
    size.directives += selection.directives?.length ?? 0;
    if (selection.kind === Kind.FIELD && selection.alias) size.aliases++;
    if (selection.kind !== Kind.FRAGMENT_SPREAD && selection.selectionSet) count(selection.selectionSet, size);
  }
}

/** What is below `__schema` and `__type` doesn't count: the standard introspection query is 15 deep, and has a rule of its own. */
function depthOf(set: SelectionSetNode, fragments: Fragments, depths: Map<string, number>): number {
  let deepest = 0;
  for (const selection of set.selections) {
    let depth: number;
    if (selection.kind === Kind.FRAGMENT_SPREAD) depth = depthOfFragment(selection.name.value, fragments, depths);
    else if (selection.kind === Kind.INLINE_FRAGMENT) depth = depthOf(selection.selectionSet, fragments, depths);
    else if (selection.selectionSet && !selection.name.value.startsWith("__")) {
      depth = 1 + depthOf(selection.selectionSet, fragments, depths);
    } else depth = 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

function depthOfFragment(name: string, fragments: Fragments, depths: Map<string, number>): number {
  const known = depths.get(name);
  if (known !== undefined) return known;
  // For the time being, so that a cycle ends.
  depths.set(name, 0);
  const fragment = fragments.get(name);
  const depth = fragment ? depthOf(fragment.selectionSet, fragments, depths) : 0;
  depths.set(name, depth);
  return depth;
}
