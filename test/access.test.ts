/** Every cell of docs/access.md: each role, and a stranger, asks for each field of Query, Mutation and Subscription. */
import { readFileSync } from "node:fs";
import path from "node:path";
import {
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type GraphQLField,
  type GraphQLInputType,
} from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSchema } from "../server/src/graphql/schema.ts";
import type { Role } from "../server/src/storage/schema.ts";
import { type ShownError } from "./client.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

const ROLES = ["owner", "admin", "editor", "runner", "viewer"] as const satisfies Role[];
const schema = createSchema();
const ROOTS = {
  Query: schema.getQueryType()!,
  Mutation: schema.getMutationType()!,
  Subscription: schema.getSubscriptionType()!,
};
type Root = keyof typeof ROOTS;

/** `Query.me` → what it needs, and whether each role may ask for it, from the page. */
type Cells = { needs: string; roles: Record<Role, boolean> };
const page = readFileSync(path.join(import.meta.dirname, "../docs/access.md"), "utf8");
const cells = new Map<string, Cells>(
  Object.keys(ROOTS).flatMap((root) => {
    const [, rows = ""] =
      new RegExp(`^\\| ${root} \\| needs \\|.*\\n\\|[-| ]+\\n((?:\\|.*\\n)+)`, "m").exec(page) ?? [];
    return rows
      .trim()
      .split("\n")
      .map((line): [string, Cells] => {
        const [name, needs, ...marks] = line.slice(2, -2).split(" | ");
        const roles = Object.fromEntries(ROLES.map((role, index) => [role, marks[index] === "yes"]));
        return [`${root}.${name!.replaceAll("`", "")}`, { needs: needs!, roles: roles as Cells["roles"] }];
      });
  }),
);

/** Arguments that name nothing: an operation that is let in finds nothing to do. */
function valueOf(type: GraphQLInputType): unknown {
  if (isNonNullType(type)) return valueOf(type.ofType);
  if (isListType(type)) return [];
  if (isEnumType(type)) return type.getValues()[0]!.name;
  if (!isInputObjectType(type))
    return { Int: 1, Boolean: true, DateTime: "2030-01-01T00:00:00Z", JSON: {}, ID: "nothing" }[type.name] ?? "nothing";
  const fields = Object.values(type.getFields());
  const [first] = fields;
  const given = type.isOneOf ? [first!] : fields.filter((field) => isNonNullType(field.type));
  return Object.fromEntries(given.map((field) => [field.name, valueOf(field.type)]));
}

/** Those that are required, and of a subscription what is refused, so that it answers at once. */
const isGiven = (root: Root, { type, name }: { type: GraphQLInputType; name: string }): boolean =>
  isNonNullType(type) || (root === "Subscription" && ["projectId", "source"].includes(name));

function operationOf(
  root: Root,
  field: GraphQLField<unknown, unknown>,
): { query: string; variables: Record<string, unknown> } {
  const given = field.args.filter((argument) => isGiven(root, argument));
  const declared = given.map(({ name, type }) => `$${name}: ${String(type)}`).join(", ");
  const passed = given.map(({ name }) => `${name}: $${name}`).join(", ");
  const selection = isCompositeType(getNamedType(field.type)) ? "{ __typename }" : "";
  return {
    query: `${root.toLowerCase()} ${declared && `(${declared})`} { ${field.name} ${passed && `(${passed})`} ${selection} }`,
    variables: Object.fromEntries(given.map(({ name, type }) => [name, name === "source" ? "" : valueOf(type)])),
  };
}

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function signIn(email: string, password: string): Promise<string> {
  const login =
    "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }";
  return (await server.data(login, { email, password }, null)).login.accessToken;
}

let made = 0;
async function memberWith(role: Role): Promise<string> {
  const { email, password } = await server.member(`${role}${++made}@access.example.org`, role);
  return signIn(email, password);
}

async function errorsOf(
  root: Root,
  field: GraphQLField<unknown, unknown>,
  token: string | null,
): Promise<ShownError[]> {
  const { query, variables } = operationOf(root, field);
  if (root !== "Subscription") return (await server.graphql(query, variables, token)).errors ?? [];
  for await (const { data } of server.events(query, variables, token)) return data.errors ?? [];
  throw new Error(`${field.name} answered nothing`);
}

/** The admission's own two refusals; whatever else is answered, the operation was let in. */
const isRefused = (errors: ShownError[]): boolean =>
  errors.some(
    ({ message, extensions: { code } }) =>
      (code === "FORBIDDEN" && message.startsWith("this needs the scope")) ||
      (code === "UNAUTHENTICATED" && message.startsWith("sign in first")),
  );

const fieldsOf = (root: Root): GraphQLField<unknown, unknown>[] => Object.values(ROOTS[root].getFields());
/** Each ends what its caller has. */
const LAST = ["logout", "leaveOrganization"];

test("the page has a row for every field", () => {
  const all = (Object.keys(ROOTS) as Root[]).flatMap((root) => fieldsOf(root).map(({ name }) => `${root}.${name}`));
  // Introspection is of the language itself.
  expect([...cells.keys()].filter((name) => !name.includes("__")).toSorted()).toEqual(all.toSorted());
  expect([...cells.values()].filter(({ roles }) => !roles.owner)).toEqual([]);
});

test.for(ROLES)("%s may ask for what the page says, and for nothing else", async (role) => {
  const token = await memberWith(role);
  const found: string[] = [];
  for (const root of Object.keys(ROOTS) as Root[])
    for (const field of fieldsOf(root)) {
      const asked = LAST.includes(field.name) ? await memberWith(role) : token;
      const expected = cells.get(`${root}.${field.name}`)!.roles[role];
      if (isRefused(await errorsOf(root, field, asked)) === expected) found.push(`${root}.${field.name}`);
    }
  expect(found).toEqual([]);
});

test("a stranger may ask for what needs nothing", async () => {
  const found: string[] = [];
  for (const root of Object.keys(ROOTS) as Root[])
    for (const field of fieldsOf(root)) {
      const isOpen = cells.get(`${root}.${field.name}`)!.needs === "nothing";
      if (isRefused(await errorsOf(root, field, null)) === isOpen) found.push(`${root}.${field.name}`);
    }
  expect(found).toEqual([]);
});
