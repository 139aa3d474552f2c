/** Every place of the schema that takes a text: arguments of its root fields, and fields of their inputs. */
import {
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLSchema,
} from "graphql";

export type Root = "query" | "mutation" | "subscription";

export type TextInput = {
  root: Root;
  field: GraphQLField<unknown, unknown>;
  /** From the argument on: `["input", "name"]`. */
  path: readonly string[];
  type: "String" | "ID" | "JSON" | "DateTime";
};

const TAKES_TEXT: readonly string[] = ["String", "ID", "JSON", "DateTime"];

export const nameOf = ({ root, field, path }: TextInput): string => `${root} ${field.name}(${path.join(".")})`;

export function textInputs(schema: GraphQLSchema): TextInput[] {
  const roots = {
    query: schema.getQueryType()!,
    mutation: schema.getMutationType()!,
    subscription: schema.getSubscriptionType()!,
  };
  return (Object.keys(roots) as Root[]).flatMap((root) =>
    Object.values(roots[root].getFields()).flatMap((field) =>
      field.args.flatMap((argument) =>
        pathsIn(argument).map(([path, type]): TextInput => ({ root, field, path, type })),
      ),
    ),
  );
}

function pathsIn({ name, type }: GraphQLArgument | GraphQLInputField): [string[], TextInput["type"]][] {
  const named = getNamedType(type);
  if (isInputObjectType(named))
    return Object.values(named.getFields()).flatMap((field) =>
      pathsIn(field).map(([path, of]): [string[], TextInput["type"]] => [[name, ...path], of]),
    );
  return TAKES_TEXT.includes(named.name) ? [[[name], named.name as TextInput["type"]]] : [];
}

/** The arguments beside the text: `given` by name, and something harmless for what else is required. */
export type Given = Readonly<Record<string, unknown>>;

function valueOf(type: GraphQLInputType, given: Given): unknown {
  if (isNonNullType(type)) return valueOf(type.ofType, given);
  if (isListType(type)) return [];
  if (isEnumType(type)) return type.getValues().at(-1)!.name;
  if (isInputObjectType(type)) return objectOf(Object.values(type.getFields()), [], undefined, given);
  return { Int: 1, Boolean: true, DateTime: "2030-01-01T00:00:00Z", JSON: {} }[type.name] ?? "nothing";
}

/** The arguments, or the fields of an input, with the text at the end of the path. */
function objectOf(
  fields: readonly (GraphQLArgument | GraphQLInputField)[],
  [first, ...rest]: readonly string[],
  value: unknown,
  given: Given,
): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const { name, type } of fields) {
    const named = getNamedType(type);
    if (name === first) {
      const inner = isInputObjectType(named) ? objectOf(Object.values(named.getFields()), rest, value, given) : value;
      object[name] = isListType(isNonNullType(type) ? type.ofType : type) ? [inner] : inner;
    } else if (name in given) object[name] = given[name];
    else if (isNonNullType(type)) object[name] = valueOf(type, given);
  }
  return object;
}

export type Operation = { query: string; variables: Record<string, unknown> };

/** One operation that asks the field for each of the texts: the answer's `a0` for the first. */
export function operationOf(
  { root, field, path }: TextInput,
  values: readonly unknown[],
  givenFor: (index: number) => Given,
  selection = "{ __typename }",
): Operation {
  const variables: Record<string, unknown> = {};
  const declared: string[] = [];
  const asked = values.map((value, index) => {
    const passed = Object.entries(objectOf(field.args, path, value, givenFor(index))).map(([name, given]) => {
      const variable = `${name}${index}`;
      variables[variable] = given;
      declared.push(`$${variable}: ${String(field.args.find((one) => one.name === name)!.type)}`);
      return `${name}: $${variable}`;
    });
    const below = isCompositeType(getNamedType(field.type)) ? selection : "";
    return `a${index}: ${field.name}(${passed.join(", ")}) ${below}`;
  });
  return { query: `${root} (${declared.join(", ")}) { ${asked.join("\n")} }`, variables };
}
