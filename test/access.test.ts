/** Every cell of docs/access.md: each role, and a stranger, asks for each field of Query, Mutation and Subscription. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { getNamedType, isCompositeType, isNonNullType, type GraphQLInputType } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Role } from "../server/src/storage/schema.ts";
import { type ShownError } from "./client.ts";
import { fieldsOf, questionOf, ROOTS, valueOf, type Field, type Operation, type Question } from "./root-fields.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

const ROLES = ["owner", "admin", "editor", "runner", "viewer"] as const satisfies Role[];
/** As the page calls them: `Query`. */
const TITLES = Object.values(ROOTS).map(({ name }) => name);

/** `Query.me` → what it needs, and whether each role may ask for it, from the page. */
type Cells = { needs: string; roles: Record<Role, boolean> };
const page = readFileSync(path.join(import.meta.dirname, "../docs/access.md"), "utf8");
const cells = new Map<string, Cells>(
  TITLES.flatMap((root) => {
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

type Asked = { operation: Operation; name: string; field: Field };
const FIELDS: Asked[] = (Object.keys(ROOTS) as Operation[]).flatMap((operation) =>
  fieldsOf(ROOTS[operation]).map((field) => ({ operation, name: `${ROOTS[operation].name}.${field.name}`, field })),
);

/** Arguments that name nothing: an operation that is let in finds nothing to do. A subscription is refused, so that it answers at once. */
function questionFor({ operation, field }: Asked): Question {
  const isGiven = ({ type, name }: { type: GraphQLInputType; name: string }): boolean =>
    isNonNullType(type) || (operation === "subscription" && ["projectId", "source"].includes(name));
  const given = field.args
    .filter(isGiven)
    .map(({ name, type }) => [name, name === "source" ? "" : valueOf(type, () => "nothing")]);
  const selection = isCompositeType(getNamedType(field.type)) ? "{ __typename }" : "";
  return questionOf(operation, field, Object.fromEntries(given), selection);
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

async function errorsOf(asked: Asked, token: string | null): Promise<ShownError[]> {
  const { query, variables } = questionFor(asked);
  if (asked.operation !== "subscription") return (await server.graphql(query, variables, token)).errors ?? [];
  for await (const { data } of server.events(query, variables, token)) return data.errors ?? [];
  throw new Error(`${asked.name} answered nothing`);
}

/** The admission's own two refusals; whatever else is answered, the operation was let in. */
const isRefused = (errors: ShownError[]): boolean =>
  errors.some(
    ({ message, extensions: { code } }) =>
      (code === "FORBIDDEN" && message.startsWith("this needs the scope")) ||
      (code === "UNAUTHENTICATED" && message.startsWith("sign in first")),
  );

/** Each ends what its caller has. */
const LAST = ["logout", "leaveOrganization"];

test("the page has a row for every field", () => {
  // Introspection is of the language itself.
  expect([...cells.keys()].filter((name) => !name.includes("__")).toSorted()).toEqual(
    FIELDS.map(({ name }) => name).toSorted(),
  );
  expect([...cells.values()].filter(({ roles }) => !roles.owner)).toEqual([]);
});

test.for(ROLES)("%s may ask for what the page says, and for nothing else", async (role) => {
  const token = await memberWith(role);
  const found: string[] = [];
  for (const asked of FIELDS) {
    const by = LAST.includes(asked.field.name) ? await memberWith(role) : token;
    if (isRefused(await errorsOf(asked, by)) === cells.get(asked.name)!.roles[role]) found.push(asked.name);
  }
  expect(found).toEqual([]);
});

test("a stranger may ask for what needs nothing", async () => {
  const found: string[] = [];
  for (const asked of FIELDS) {
    const isOpen = cells.get(asked.name)!.needs === "nothing";
    if (isRefused(await errorsOf(asked, null)) === isOpen) found.push(asked.name);
  }
  expect(found).toEqual([]);
});
