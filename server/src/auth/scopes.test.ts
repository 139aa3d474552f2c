import { expect, test } from "vitest";
import { findRefusal } from "./admission/admission.ts";
import { ownerCaller, type Caller } from "./caller.ts";
import { ROOT_FIELDS, type Need, type Needs, type RootField } from "./field-scopes.ts";
import { newId } from "../lib/ids.ts";
import { ALL_SCOPES, ROLE_SCOPES, scopesOf } from "./scopes.ts";

const callerOf = (scopes: Caller["scopes"]): Caller => ({
  ...ownerCaller(newId(), { id: newId(), name: "Ada" }),
  scopes,
});
const needsOf = (field: RootField): Needs => {
  const need: Need = ROOT_FIELDS[field];
  return need === null || need === "public"
    ? { signIn: need === null, whole: undefined, scopes: new Map() }
    : { signIn: true, whole: undefined, scopes: new Map([[need, field]]) };
};
const allowed = (caller: Caller | undefined): RootField[] =>
  (Object.keys(ROOT_FIELDS) as RootField[]).filter((field) => !findRefusal(caller, needsOf(field)));

test("without a credential only ways to get one are open, and what an invitation is", () => {
  expect(allowed(undefined).toSorted()).toEqual([
    "Mutation.acceptInvitation",
    "Mutation.login",
    "Mutation.refreshToken",
    "Mutation.setup",
    "Query.invitation",
  ]);
  expect(findRefusal(undefined, needsOf("Query.me"))).toMatchObject({ code: "UNAUTHENTICATED" });
});

test("an owner may ask everything, and without a scope only what needs none", () => {
  expect(allowed(callerOf(ROLE_SCOPES.owner))).toEqual(Object.keys(ROOT_FIELDS));
  const none = allowed(callerOf(new Set()));
  expect(none).toContain("Query.me");
  expect(none).not.toContain("Query.agents");
  expect(findRefusal(callerOf(new Set()), needsOf("Mutation.runAgent"))).toMatchObject({
    code: "FORBIDDEN",
    message: "this needs the scope runs:start (Mutation.runAgent)",
  });
});

test("a refusal names every scope that is missing, and no other", () => {
  const scopes = new Map([
    ["runs:read", "Query.run"],
    ["agents:read", "Agent.draft"],
    ["admin", "Query.apiKeys"],
  ] as const);
  expect(findRefusal(callerOf(ROLE_SCOPES.owner), { signIn: true, whole: undefined, scopes })).toBeUndefined();
  expect(findRefusal(callerOf(new Set(["runs:read"])), { signIn: true, whole: undefined, scopes })?.message).toBe(
    "this needs the scopes agents:read (Agent.draft) and admin (Query.apiKeys)",
  );
});

test("each role may do what the one above it may, less something", () => {
  const { owner, admin, editor, runner, viewer } = ROLE_SCOPES;
  expect(owner).toEqual(new Set(ALL_SCOPES));
  expect(admin).toEqual(owner);
  for (const [less, more] of [
    [viewer, runner],
    [runner, editor],
    [editor, admin],
  ] as const) {
    expect(less.isSubsetOf(more) && less.size < more.size).toBe(true);
  }
  expect(allowed(callerOf(viewer)).filter((field) => field.startsWith("Mutation."))).toEqual([
    "Mutation.login",
    "Mutation.refreshToken",
    "Mutation.setup",
    "Mutation.acceptInvitation",
    "Mutation.logout",
    "Mutation.changePassword",
    "Mutation.revokeSession",
    "Mutation.revokeOtherSessions",
    "Mutation.leaveOrganization",
  ]);
});

test("stored scopes that this release does not know give nothing", () => {
  expect(scopesOf(["runs:read", "moon:walk", "constructor"])).toEqual(new Set(["runs:read"]));
  expect(scopesOf([])).toEqual(new Set());
});
