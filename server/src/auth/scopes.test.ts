import { expect, test } from "vitest";
import { checkField, ownerCaller, type Caller } from "./caller.ts";
import { newId } from "../lib/ids.ts";
import { ALL_SCOPES, ROLE_SCOPES, SCOPES, scopesOf, type Field } from "./scopes.ts";

const callerOf = (scopes: Caller["scopes"]): Caller => ({
  ...ownerCaller(newId(), { id: newId(), name: "Ada" }),
  scopes,
});
const allowed = (caller: Caller | undefined): Field[] =>
  (Object.keys(SCOPES) as Field[]).filter((field) => {
    try {
      checkField(caller, field);
      return true;
    } catch {
      return false;
    }
  });

test("without a credential only login, refreshToken, setup and __typename are open", () => {
  expect(allowed(undefined).toSorted()).toEqual([
    "Mutation.__typename",
    "Mutation.login",
    "Mutation.refreshToken",
    "Mutation.setup",
    "Query.__typename",
    "Subscription.__typename",
  ]);
  expect(() => checkField(undefined, "Query.me")).toThrow(expect.objectContaining({ code: "UNAUTHENTICATED" }));
});

test("an owner may ask everything, and without a scope only what needs none", () => {
  expect(allowed(callerOf(ROLE_SCOPES.owner))).toEqual(Object.keys(SCOPES));
  const none = allowed(callerOf(new Set()));
  expect(none).toContain("Query.me");
  expect(none).not.toContain("Query.agents");
  expect(() => checkField(callerOf(new Set()), "Mutation.runAgent")).toThrow(
    expect.objectContaining({ code: "FORBIDDEN", message: "this needs the scope runs:start" }),
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
    "Mutation.__typename",
    "Mutation.login",
    "Mutation.refreshToken",
    "Mutation.setup",
    "Mutation.logout",
  ]);
});

test("stored scopes that this release does not know give nothing", () => {
  expect(scopesOf(["runs:read", "moon:walk", "constructor"])).toEqual(new Set(["runs:read"]));
  expect(scopesOf([])).toEqual(new Set());
});
