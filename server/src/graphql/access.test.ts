/** Every field says who may ask for it, and the schema is not created otherwise. Over the wire: test/access.test.ts. */
import { buildSchema, type GraphQLField, type GraphQLSchema } from "graphql";
import { expect, test } from "vitest";
import { findRefusal } from "../auth/admission/admission.ts";
import { ownerCaller, type Caller } from "../auth/caller.ts";
import type { Need, Needs } from "../auth/needs.ts";
import { ROLE_SCOPES } from "../auth/scopes.ts";
import { newId } from "../lib/ids.ts";
import { readFieldAccess, type Access } from "./builder/access.ts";
import { createSchema } from "./schema.ts";

/** The error for a schema in which one field says something else. */
function refusalOf(place: string, other: Partial<Access> | undefined, schema: GraphQLSchema = createSchema()): string {
  const [type, name] = place.split(".") as [string, string];
  const fields = (
    schema.getType(type) as unknown as { getFields(): Record<string, GraphQLField<unknown, unknown>> }
  ).getFields();
  const { pothosOptions, ...extensions } = fields[name]!.extensions;
  const options = { ...(pothosOptions as Partial<Access>), ...other };
  Object.assign(fields[name]!, { extensions: other ? { ...extensions, pothosOptions: options } : extensions });
  try {
    readFieldAccess(schema);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

test("a field that does not say who may ask for it cannot be served", () => {
  expect(refusalOf("Query.me", {})).toBe("");
  expect(refusalOf("Query.me", undefined)).toBe("Query.me has no scope");
  expect(refusalOf("Agent.draft", undefined)).toBe("Agent.draft has no scope");
  expect(refusalOf("AgentEdge.node", undefined)).toBe("AgentEdge.node has no scope");
  expect(refusalOf("Node.id", undefined)).toBe("Node.id has no scope");
  const silent = { narrowedKeys: undefined } as unknown as Partial<Access>;
  for (const field of ["Query.me", "Mutation.runAgent", "Subscription.runUpdated"])
    expect(refusalOf(field, silent)).toBe(
      `${field} does not say whether narrowed API keys may ask for it (narrowedKeys)`,
    );
  expect(() => readFieldAccess(buildSchema("type Query { me: Int }"))).toThrow("Query.me has no scope");
});

test("a field that says what cannot be cannot be served either", () => {
  expect(refusalOf("Query.me", { scope: "inherited" })).toBe(
    "Query.me has the scope inherited, which objects' fields alone may have",
  );
  for (const scope of ["public", null] as unknown as Access["scope"][])
    expect(refusalOf("Agent.draft", { scope })).toBe(
      `Agent.draft has the scope ${scope}, which root fields alone may have`,
    );
  expect(refusalOf("Mutation.login", { narrowedKeys: false })).toMatch(/^Mutation.login is public/);
  expect(refusalOf("Mutation.runAgent", { answers: ["Run.outptu"] })).toBe(
    "Mutation.runAgent answers Run.outptu, which the schema does not have",
  );
  expect(refusalOf("Node.id", { scope: "admin" })).toMatch(/\.id and Node\.id have different scopes/);
});

const access = readFieldAccess(createSchema());
const rootFields = [...access].flatMap(([field, { scope }]) =>
  /^(Query|Mutation|Subscription)\./.test(field) ? [{ field, need: scope as Need }] : [],
);
const needsOf = (need: Need, field: string): Needs => ({
  signIn: need !== "public",
  whole: undefined,
  scopes: new Map(need === null || need === "public" ? [] : [[need, field]]),
});
const callerOf = (scopes: Caller["scopes"]): Caller => ({
  ...ownerCaller(newId(), { id: newId(), name: "Ada" }),
  scopes,
});
const allowed = (caller: Caller | undefined): string[] =>
  rootFields.filter(({ field, need }) => !findRefusal(caller, needsOf(need, field))).map(({ field }) => field);

test("without a credential only ways to get one are open, and what an invitation is", () => {
  expect(allowed(undefined).toSorted()).toEqual([
    "Mutation.acceptInvitation",
    "Mutation.login",
    "Mutation.refreshToken",
    "Mutation.requestPasswordReset",
    "Mutation.resetPassword",
    "Mutation.setup",
    "Query.invitation",
  ]);
});

test("an owner may ask everything, a viewer changes nothing but what is their own, and without a scope little is left", () => {
  expect(allowed(callerOf(ROLE_SCOPES.owner))).toEqual(rootFields.map(({ field }) => field));
  expect(rootFields.length).toBeGreaterThan(70);
  const none = allowed(callerOf(new Set()));
  expect(none).toContain("Query.me");
  expect(none).not.toContain("Query.agents");
  const changes = allowed(callerOf(ROLE_SCOPES.viewer)).filter((field) => field.startsWith("Mutation."));
  expect(changes.toSorted()).toEqual([
    "Mutation.acceptInvitation",
    "Mutation.changePassword",
    "Mutation.leaveOrganization",
    "Mutation.login",
    "Mutation.logout",
    "Mutation.refreshToken",
    "Mutation.requestPasswordReset",
    "Mutation.resetPassword",
    "Mutation.revokeOtherSessions",
    "Mutation.revokeSession",
    "Mutation.setup",
  ]);
});
