import { expect, test } from "vitest";
import { findRefusal } from "./admission/admission.ts";
import { ownerCaller, type Caller } from "./caller.ts";
import { newId } from "../lib/ids.ts";
import { ALL_SCOPES, ROLE_SCOPES, scopesOf } from "./scopes.ts";

const callerOf = (scopes: Caller["scopes"]): Caller => ({
  ...ownerCaller(newId(), { id: newId(), name: "Ada" }),
  scopes,
});

test("a stranger is asked to sign in first", () => {
  const needs = { signIn: true, whole: undefined, scopes: new Map() };
  expect(findRefusal(undefined, needs)).toMatchObject({ code: "UNAUTHENTICATED" });
  expect(findRefusal(undefined, { ...needs, signIn: false })).toBeUndefined();
});

test("a refusal names every scope that is missing, and no other", () => {
  const scopes = new Map([
    ["runs:read", "Query.run"],
    ["agents:read", "Agent.draft"],
    ["admin", "Query.apiKeys"],
  ] as const);
  expect(findRefusal(callerOf(ROLE_SCOPES.owner), { signIn: true, whole: undefined, scopes })).toBeUndefined();
  const start = { signIn: true, whole: undefined, scopes: new Map([["runs:start", "Mutation.runAgent"]] as const) };
  expect(findRefusal(callerOf(new Set()), start)).toMatchObject({
    code: "FORBIDDEN",
    message: "this needs the scope runs:start (Mutation.runAgent)",
  });
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
});

test("stored scopes that this release does not know give nothing", () => {
  expect(scopesOf(["runs:read", "moon:walk", "constructor"])).toEqual(new Set(["runs:read"]));
  expect(scopesOf([])).toEqual(new Set());
});
