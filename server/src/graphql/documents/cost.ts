/**
 * The most that an operation may read and answer: objects, and values (its fields, counted once for each object), with
 * `first` as multiplier. A field's `extensions.cost` says what its list is multiplied by; a type that is
 * only a part of an object (`extensions.isPart`) does not count as an object.
 */
import {
  getNamedType,
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
  type ValueNode,
} from "graphql";
import { fragmentsOf } from "./size.ts";

/** `most`: how many items the list has at most; `argument`: unless this argument of the field says fewer. */
type ListCost = { most: number; argument?: string };
export type Cost = { objects: number; values: number };

type Variables = Record<string, unknown>;
type CostOf = (variables: Variables) => Cost;
type Walk = {
  schema: GraphQLSchema;
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  known: Map<string, CostOf>;
  defaults: ReadonlyMap<string, ValueNode>;
};

/** The document is valid. The cost is known at once unless a variable decides on it. */
export function costOf(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): CostOf {
  const fragments = fragmentsOf(document);
  const defaults = new Map(
    operation.variableDefinitions?.flatMap(({ variable, defaultValue }) =>
      defaultValue ? [[variable.name.value, defaultValue] as const] : [],
    ),
  );
  return setCost(
    { schema, fragments, known: new Map(), defaults },
    operation.selectionSet,
    schema.getRootType(operation.operation)!,
  );
}

const constant = (cost: Cost): CostOf & { cost: Cost } => Object.assign(() => cost, { cost });
const isConstant = (cost: CostOf): cost is CostOf & { cost: Cost } => "cost" in cost;
const NOTHING = constant({ objects: 0, values: 0 });
const ONE_VALUE = constant({ objects: 0, values: 1 });

const total = (costs: Cost[]): Cost => ({
  objects: costs.reduce((sum, { objects }) => sum + objects, 0),
  values: costs.reduce((sum, { values }) => sum + values, 0),
});

/** Adds up what needs no variable, so that the cost of the usual document is known at once. */
function sum(costs: CostOf[]): CostOf {
  const fixed = total(costs.filter(isConstant).map(({ cost }) => cost));
  const open = costs.filter((cost) => !isConstant(cost));
  if (open.length === 0) return constant(fixed);
  return (variables) => total([fixed, ...open.map((cost) => cost(variables))]);
}

function setCost(walk: Walk, set: SelectionSetNode, type: GraphQLNamedType): CostOf {
  return sum(
    set.selections.map((selection) => {
      if (selection.kind === Kind.FIELD) return fieldCost(walk, selection, type);
      if (selection.kind === Kind.FRAGMENT_SPREAD) return fragmentCost(walk, selection.name.value);
      const condition = selection.typeCondition ? walk.schema.getType(selection.typeCondition.name.value)! : type;
      return setCost(walk, selection.selectionSet, condition);
    }),
  );
}

function fragmentCost(walk: Walk, name: string): CostOf {
  let cost = walk.known.get(name);
  if (!cost) {
    const fragment = walk.fragments.get(name)!;
    cost = setCost(walk, fragment.selectionSet, walk.schema.getType(fragment.typeCondition.name.value)!);
    walk.known.set(name, cost);
  }
  return cost;
}

function fieldCost(walk: Walk, node: FieldNode, parent: GraphQLNamedType): CostOf {
  if (!node.selectionSet) return ONE_VALUE;
  const field = fieldOf(parent, node.name.value);
  if (!field) return NOTHING;
  const type = getNamedType(field.type);
  const below = setCost(walk, node.selectionSet, type);
  const times = timesOf(walk, node, field.extensions["cost"] as ListCost | undefined);
  const objects = type.extensions["isPart"] === true ? 0 : 1;
  const of = (number: number, cost: Cost): Cost => ({
    objects: number * (objects + cost.objects),
    values: number * (1 + cost.values),
  });
  if (isConstant(below) && typeof times === "number") return constant(of(times, below.cost));
  return (variables) => of(typeof times === "number" ? times : times(variables), below(variables));
}

/** Undefined for `__schema` and `__type`, which have their own rule. */
const fieldOf = (parent: GraphQLNamedType, name: string): GraphQLField<unknown, unknown> | undefined =>
  (parent as GraphQLObjectType).getFields()[name];

function timesOf(walk: Walk, node: FieldNode, cost: ListCost | undefined): number | ((variables: Variables) => number) {
  if (!cost) return 1;
  const value = node.arguments?.find(({ name }) => name.value === cost.argument)?.value;
  if (value?.kind !== Kind.VARIABLE) return literal(value, cost.most);
  const name = value.name.value;
  return (variables) => {
    // As in the executor: a null that was sent is null, and only a variable that was not sent has its default.
    if (!Object.hasOwn(variables, name)) return literal(walk.defaults.get(name), cost.most);
    const given = variables[name];
    return typeof given === "number" ? Math.max(0, given) : cost.most;
  };
}

/** Anything but a number counts as if it were left out: as the most there may be. */
const literal = (value: ValueNode | undefined, most: number): number =>
  value?.kind === Kind.INT ? Math.max(0, Number(value.value)) : most;
