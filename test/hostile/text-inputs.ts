/** Every place of the schema that takes a text: arguments of its root fields, and fields of their inputs. */
import {
  getNamedType,
  isCompositeType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
} from "graphql";
import {
  fieldsOf,
  ROOTS,
  valueOf as harmlessValueOf,
  type Field,
  type Operation,
  type Question,
} from "../root-fields.ts";

export type TextInput = {
  root: Operation;
  field: Field;
  /** From the argument on: `["input", "name"]`. */
  path: readonly string[];
  type: "String" | "ID" | "JSON" | "DateTime";
};

const TAKES_TEXT: readonly string[] = ["String", "ID", "JSON", "DateTime"];

export const nameOf = ({ root, field, path }: TextInput): string => `${root} ${field.name}(${path.join(".")})`;

export function textInputs(): TextInput[] {
  return (Object.keys(ROOTS) as Operation[]).flatMap((root) =>
    fieldsOf(ROOTS[root]).flatMap((field) =>
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
  if (isInputObjectType(type)) return objectOf(Object.values(type.getFields()), [], undefined, given);
  return harmlessValueOf(type, () => "nothing");
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

/** One operation that asks the field for each of the texts: the answer's `a0` for the first. */
export function operationOf(
  { root, field, path }: TextInput,
  values: readonly unknown[],
  givenFor: (index: number) => Given,
  selection = "{ __typename }",
): Question {
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
