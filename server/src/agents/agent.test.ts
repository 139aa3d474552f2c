import { expect, test } from "vitest";
import { newId } from "../lib/ids.ts";
import type { AgentStatus } from "../storage/schema.ts";
import { shownOf, statusProblem, takesRuns, type Agent } from "./agent.ts";

const ALL: AgentStatus[] = ["draft", "active", "paused", "archived"];

const agent: Agent = {
  id: newId(),
  organizationId: newId(),
  projectId: newId(),
  handle: "intake",
  name: "Intake",
  description: null,
  status: "active",
  publishedVersion: "1.0.0",
  draftVersion: null,
  concurrencyLimit: null,
  createdAt: new Date(0),
  updatedAt: new Date(0),
};

test("a published agent is never a draft again, one never published only waits or is put away", () => {
  const allowed = (publishedVersion: string | null): AgentStatus[] =>
    ALL.filter((status) => statusProblem({ publishedVersion }, status) === undefined);
  expect(allowed("1.0.0")).toEqual(["active", "paused", "archived"]);
  expect(allowed(null)).toEqual(["draft", "archived"]);
  expect(statusProblem({ publishedVersion: null }, "active")).toBe(
    "an agent that was never published cannot be active: publish it first",
  );
});

test("only an active, published agent takes runs", () => {
  expect(ALL.filter((status) => takesRuns({ ...agent, status }))).toEqual(["active"]);
  expect(takesRuns({ ...agent, publishedVersion: null })).toBe(false);
});

test("an agent is shown by its title, or by its handle", () => {
  const shown = (more: object): unknown => shownOf({ name: "intake", ...more });
  expect(shown({ title: " Order intake ", summary: " Takes orders.\n" })).toEqual({
    name: "Order intake",
    description: "Takes orders.",
  });
  expect(shown({})).toEqual({ name: "intake", description: null });
  expect(shown({ title: "  ", summary: "" })).toEqual({ name: "intake", description: null });
});
