import { expect, test } from "vitest";
import { AT_FIRST } from "./key-expiry.tsx";
import { keyInput, problemsIn, type SaidOfKey } from "./key-input.ts";
import { EVERYWHERE } from "./key-reach.tsx";

const preset = { id: "a", title: "A", description: "", scopes: ["runs:start"], needsAgent: false };
const agent = (id: string, projectId: string) => ({
  id,
  name: id,
  handle: id,
  project: { id: projectId, handle: "p" },
});
const NEVER = { ends: "", date: "" };
const said: SaidOfKey = { name: "nightly", preset, own: [], reach: EVERYWHERE, expiry: NEVER };
const reach = { isNarrow: true, projectIds: ["p1"], agents: [agent("a1", "p1"), agent("a2", "p2")] };

test.for<[string, Partial<SaidOfKey>, object]>([
  ["everywhere", {}, {}],
  ["projects, and agents of other projects", { reach }, { projectIds: ["p1"], agentIds: ["a2"] }],
  ["everywhere again, with what was chosen before", { reach: { ...reach, isNarrow: false } }, {}],
  ["agents alone", { preset: { ...preset, needsAgent: true }, reach }, { agentIds: ["a1", "a2"] }],
  ["everything", { preset: { ...preset, scopes: ["admin"] }, reach }, { scopes: ["admin"] }],
  ["own scopes", { preset: undefined, own: ["runs:read"] }, { scopes: ["runs:read"] }],
])("the input of a key: %s", ([, change, input]) => {
  expect(keyInput({ ...said, ...change })).toEqual({ name: "nightly", scopes: ["runs:start"], ...input });
});

test("a key's form says what is missing", () => {
  expect(problemsIn({ ...said, expiry: AT_FIRST })).toEqual({});
  const empty = { ...said, name: " ", preset: undefined, expiry: { ends: "date", date: "" } };
  const nowhere = { ...EVERYWHERE, isNarrow: true };
  expect(Object.keys(problemsIn({ ...empty, reach: nowhere }))).toEqual(["name", "scopes", "reach", "expiresAt"]);
});
