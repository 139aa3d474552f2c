/**
 * The needs of an operation, worked out from its document once; the rule is in builder/access.ts. Everything that is
 * written counts, through fragments too, and what `@skip` or `@include` leaves out as well: whether an operation is
 * allowed does not depend on its variables. Each fragment is walked once, and once more in the answer of each mutation
 * that has `answers`.
 */
import {
  getNamedType,
  Kind,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import type { Needs } from "../../auth/needs.ts";
import type { Scope } from "../../auth/scopes.ts";
import type { FieldAccess } from "../builder/access.ts";
import { fragmentsOf } from "./size.ts";

type Walk = {
  schema: GraphQLSchema;
  access: FieldAccess;
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Fragments, each with the `mutation` whose answer it is spread in. */
  walked: Set<string>;
  signIn: boolean;
  scopes: Map<Scope, string>;
  whole: string | undefined;
};

/** The document is valid. */
export function needsOf(
  schema: GraphQLSchema,
  access: FieldAccess,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): Needs {
  const fragments = fragmentsOf(document);
  const walk: Walk = {
    schema,
    access,
    fragments,
    walked: new Set(),
    signIn: false,
    scopes: new Map(),
    whole: undefined,
  };
  walkSet(walk, operation.selectionSet, schema.getRootType(operation.operation)!.name, undefined);
  return { signIn: walk.signIn, scopes: walk.scopes, whole: walk.whole };
}

/** `mutation`: the one that answers the object, if it has `answers`. */
function walkSet(walk: Walk, { selections }: SelectionSetNode, type: string, mutation: string | undefined): void {
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) walkField(walk, selection, type, mutation);
    else if (selection.kind === Kind.FRAGMENT_SPREAD) walkFragment(walk, selection.name.value, mutation);
    else walkSet(walk, selection.selectionSet, selection.typeCondition?.name.value ?? type, mutation);
  }
}

function walkFragment(walk: Walk, name: string, mutation: string | undefined): void {
  const place = `${name} ${mutation}`;
  if (walk.walked.has(place)) return;
  walk.walked.add(place);
  const { selectionSet, typeCondition } = walk.fragments.get(name)!;
  walkSet(walk, selectionSet, typeCondition.name.value, mutation);
}

function walkField(walk: Walk, { name, selectionSet }: FieldNode, type: string, mutation: string | undefined): void {
  // Every type has it, and it is public.
  if (name.value === "__typename") return;
  const field = `${type}.${name.value}`;
  const { scope, narrowedKeys, answers } = walk.access.get(field)!;
  if (scope === null) walk.signIn = true;
  else if (scope !== "public" && scope !== "inherited" && !isAnswered(walk, mutation, field)) {
    walk.signIn = true;
    if (!walk.scopes.has(scope)) walk.scopes.set(scope, field);
  }
  if (narrowedKeys === false) walk.whole ??= field;
  const answer = (walk.schema.getType(type) as GraphQLObjectType).getFields()[name.value]?.type;
  // Below `__schema` and `__type` nothing is protected.
  if (!selectionSet || !answer) return;
  walkSet(walk, selectionSet, getNamedType(answer).name, answers && field);
}

const isAnswered = ({ access }: Walk, mutation: string | undefined, field: string): boolean =>
  mutation !== undefined && access.get(mutation)!.answers!.includes(field);
