/** docs/access.md: roles, scopes, operations and plans, from what the program decides by. */
import type { GraphQLEnumType, GraphQLSchema } from "graphql";
import { API_KEY_PRESETS } from "../auth/api-keys/api-key-presets.ts";
import type { Need } from "../auth/needs.ts";
import { ALL_SCOPES, ROLE_SCOPES, ROLES, type Scope } from "../auth/scopes.ts";
import { readFieldAccess } from "./builder/access.ts";
import { NODES } from "./node.ts";
import { REQUESTS_PER_MINUTE } from "../rates/plans.ts";
import { table } from "./print-table.ts";

const yes = (isAllowed: boolean): string => (isAllowed ? "yes" : "–");

/** Whether a member with these scopes may ask for what needs this. */
const isOpen = (need: Need, scopes: ReadonlySet<Scope>): boolean =>
  need === null || need === "public" || scopes.has(need);
const nameOf = (need: Need): string => (need === null ? "a credential" : need === "public" ? "nothing" : `\`${need}\``);

/** The values of an enumeration with their descriptions. */
const valuesOf = (schema: GraphQLSchema, name: string): string[][] =>
  (schema.getType(name) as GraphQLEnumType).getValues().map((value) => [`\`${value.name}\``, value.description ?? ""]);

/** `name` is code, as it is printed. */
const perMinute = (name: string): string =>
  String(REQUESTS_PER_MINUTE[name.replaceAll("`", "") as keyof typeof REQUESTS_PER_MINUTE] ?? "as agreed, or no limit");

const ROOTS = ["Query", "Mutation", "Subscription"] as const;
type Root = (typeof ROOTS)[number];
type RootField = { root: Root; name: string; scope: Need; narrowedKeys: boolean };

/** In the order of the schema. */
const rootFields = (schema: GraphQLSchema): RootField[] => {
  const access = [...readFieldAccess(schema)];
  return ROOTS.flatMap((root) =>
    access
      .filter(([field]) => field.startsWith(`${root}.`))
      .map(([field, { scope, narrowedKeys }]) => ({
        root,
        name: `\`${field.slice(root.length + 1)}\``,
        scope: scope as Need,
        narrowedKeys: narrowedKeys!,
      })),
  );
};

const rowsOf = (fields: { name: string; scope: Need }[]): string[][] =>
  fields.map(({ name, scope }) => [name, nameOf(scope), ...ROLES.map((role) => yes(isOpen(scope, ROLE_SCOPES[role])))]);

const namesOf = (fields: { name: string }[]): string => fields.map(({ name }) => name).join(", ");

function operationsText(fields: RootField[]): string {
  const nodes = Object.entries(NODES).map(([name, node]) => ({ name, ...node }));
  return `## Operations

${ROOTS.map((root) => table([root, "needs", ...ROLES], rowsOf(fields.filter((field) => field.root === root)))).join("\n\n")}

What needs a credential is open to every role and key; what needs nothing is open to strangers. \`leaveOrganization\`, \`logout\`,
\`sessions\` with \`revokeSession\` and \`revokeOtherSessions\`, and \`changePassword\` are for sessions: an API key is refused.
\`node(id)\` needs what the kind of the id needs:

${table(["kind", "needs", ...ROLES], rowsOf(nodes))}

## Narrowed API keys

A key that is narrowed to projects or agents ([narrowed keys](api.md#narrowed-keys)) asks with its scopes for these, and gets what it
reaches: ${namesOf(fields.filter(({ scope, narrowedKeys }) => scope !== "public" && narrowedKeys))}; by \`node\` for ${namesOf(nodes.filter(({ narrowedKeys }) => narrowedKeys))}.

All others are of the whole organization, and refused to it: ${namesOf(fields.filter(({ narrowedKeys }) => !narrowedKeys))}.`;
}

export function accessText(schema: GraphQLSchema): string {
  const fields = rootFields(schema);
  return `# Who may do what

\`npm run schema\` prints this page from what the program decides by (\`server/src/auth/scopes.ts\`, and the
options of each field in \`server/src/graphql\`). \`test/access.test.ts\` asks every cell of the operations over GraphQL, as each role.

An operation is refused as a whole when its credential lacks a scope that one of its fields needs ([scopes](api.md#scopes)). A session has
the scopes of its member's role, an API key those that it was made with, and none that its maker lacked.

## Roles

${table(["role", "what it may do"], valuesOf(schema, "Role"))}

Beyond the tables: only an owner makes, changes, removes or invites an owner; nobody grants a role with a scope that they lack; the last
owner is not demoted or removed and does not leave ([people](api.md#people)). An API key is never an owner.
A publish that makes, changes or deletes triggers needs \`triggers:write\` as well ([triggers](triggers.md#in-a-definition)).

## Scopes

${table(
  ["scope", ...ROLES, "operations"],
  ALL_SCOPES.map((scope) => [
    `\`${scope}\``,
    ...ROLES.map((role) => yes(ROLE_SCOPES[role].has(scope))),
    namesOf(fields.filter((field) => field.scope === scope)) || "nothing yet",
  ]),
)}

${operationsText(fields)}

## Presets of API keys

${table(
  ["preset", "scopes", "meant for certain agents", "what for"],
  API_KEY_PRESETS.map(({ id, scopes, needsAgent, description }) => [
    `\`${id}\``,
    scopes.length === ALL_SCOPES.length ? "all" : scopes.map((scope) => `\`${scope}\``).join(", "),
    yes(needsAgent),
    description,
  ]),
)}

## Plans

${table(
  ["plan", "requests in any 60 s", "what it allows"],
  valuesOf(schema, "Plan").map(([name, text]) => [name!, perMinute(name!), text!]),
)}
`;
}
