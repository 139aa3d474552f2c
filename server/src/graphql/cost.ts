/**
 * What an operation may read at most: objects, counted with `first` as multiplier. A field's `extensions.cost` says what
 * its list is multiplied by; what isn't an object, or is but a part of one (`extensions.isPart`), is free.
 */
import {
  getNamedType,
  isAbstractType,
  isCompositeType,
  Kind,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import { fragmentsOf } from "./size.ts";

/** `most`: how many items the list has at most; `argument`: unless this argument of the field says fewer. */
export type ListCost = { most: number; argument?: string };

type Variables = Record<string, unknown>;
type Cost = (variables: Variables) => number;
type Walk = {
  schema: GraphQLSchema;
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  known: Map<string, Cost>;
  defaults: Variables;
};

/** The document is valid. The cost is a number at once unless a variable decides on it. */
export function costOf(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): Cost {
  const fragments = fragmentsOf(document);
  const defaults = Object.fromEntries(
    (operation.variableDefinitions ?? []).map(({ variable, defaultValue }) => [
      variable.name.value,
      defaultValue?.kind === Kind.INT ? Number(defaultValue.value) : undefined,
    ]),
  );
  return setCost(
    { schema, fragments, known: new Map(), defaults },
    operation.selectionSet,
    schema.getRootType(operation.operation)!,
  );
}

const constant = (value: number): Cost & { value: number } => Object.assign(() => value, { value });
const isConstant = (cost: Cost): cost is Cost & { value: number } => "value" in cost;

/** Folds what needs no variable, so that the usual document's cost is one number. */
function sum(costs: Cost[]): Cost {
  const fixed = costs.filter(isConstant).reduce((total, { value }) => total + value, 0);
  const open = costs.filter((cost) => !isConstant(cost));
  if (open.length === 0) return constant(fixed);
  return (variables) => open.reduce((total, cost) => total + cost(variables), fixed);
}

function setCost(walk: Walk, set: SelectionSetNode, type: GraphQLNamedType): Cost {
  return sum(
    set.selections.map((selection) => {
      if (selection.kind === Kind.FIELD) return fieldCost(walk, selection, type);
      if (selection.kind === Kind.FRAGMENT_SPREAD) return fragmentCost(walk, selection.name.value);
      const condition = selection.typeCondition ? walk.schema.getType(selection.typeCondition.name.value)! : type;
      return setCost(walk, selection.selectionSet, condition);
    }),
  );
}

function fragmentCost(walk: Walk, name: string): Cost {
  let cost = walk.known.get(name);
  if (!cost) {
    const fragment = walk.fragments.get(name)!;
    cost = setCost(walk, fragment.selectionSet, walk.schema.getType(fragment.typeCondition.name.value)!);
    walk.known.set(name, cost);
  }
  return cost;
}

function fieldCost(walk: Walk, node: FieldNode, parent: GraphQLNamedType): Cost {
  const field = node.selectionSet ? fieldOf(parent, node.name.value) : undefined;
  const type = field && getNamedType(field.type);
  if (!node.selectionSet || !type || !isCompositeType(type)) return constant(0);
  const below = setCost(walk, node.selectionSet, type);
  const times = timesOf(walk, node, field.extensions["cost"] as ListCost | undefined);
  const isPart = type.extensions["isPart"] === true;
  const own = isPart ? 0 : 1;
  if (isConstant(below) && isConstant(times)) return constant(times.value * (own + below.value));
  return (variables) => times(variables) * (own + below(variables));
}

/** Undefined for `__schema` and `__type`. */
const fieldOf = (parent: GraphQLNamedType, name: string): GraphQLField<unknown, unknown> | undefined =>
  isAbstractType(parent) || "getFields" in parent ? (parent as GraphQLObjectType).getFields()[name] : undefined;

function timesOf(walk: Walk, node: FieldNode, cost: ListCost | undefined): Cost {
  if (!cost) return constant(1);
  const value = node.arguments?.find(({ name }) => name.value === cost.argument)?.value;
  if (value?.kind === Kind.INT) return constant(Math.max(0, Number(value.value)));
  if (value?.kind !== Kind.VARIABLE) return constant(cost.most);
  const name = value.name.value;
  return (variables) => {
    const given = variables[name] ?? walk.defaults[name];
    return typeof given === "number" ? Math.max(0, given) : cost.most;
  };
}
