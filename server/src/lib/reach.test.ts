import { describe, expect, test } from "vitest";
import { newId, type AgentId, type ProjectId } from "./ids.ts";
import { narrowed, reachedAgent, reaches, showsProject, allOf, type Reach } from "./reach.ts";

const [here, there] = [newId<"project">(), newId<"project">()];
const [mine, other] = [newId<"agent">(), newId<"agent">()];
const reach = (projectIds: ProjectId[], agentIds: AgentId[], shownProjectIds: ProjectId[] = []): { reach: Reach } => ({
  reach: { projectIds, agentIds, shownProjectIds },
});
const whole = allOf(newId());
const agents = reach([], [mine], [here]);
const projects = reach([here], []);
const both = reach([there], [mine], [here]);

test("an agent is reached by its id or its project's, a project is shown for one of its agents", () => {
  const of = [
    { projectId: here, agentId: mine },
    { projectId: here, agentId: other },
    { projectId: there, agentId: other },
  ];
  const table = [whole, agents, projects, both].map((within) => of.map((one) => reaches(within, one)));
  expect(table).toEqual([
    [true, true, true],
    [true, false, false],
    [true, true, false],
    [true, false, true],
  ]);
  expect([whole, agents, projects, both].map((within) => [here, there].map((id) => showsProject(within, id)))).toEqual([
    [true, true],
    [true, false],
    [true, false],
    [true, true],
  ]);
  const agent = { id: other, projectId: here };
  expect([whole, agents, projects, both].map((within) => reachedAgent(within, agent))).toEqual([
    agent,
    undefined,
    agent,
    undefined,
  ]);
  expect(reaches(reach([], []), of[0]!)).toBe(false);
});

describe("a filter", () => {
  test("is unchanged for a key of the whole organization, and if it names only reachable things", () => {
    for (const filter of [{}, { agentId: [other] }, { projectId: [] }]) expect(narrowed(filter, whole)).toBe(filter);
    for (const filter of [{ agentId: [mine] }, { agentId: [] }, { agentId: [mine], projectId: [here] }])
      expect(narrowed(filter, agents)).toBe(filter);
    for (const filter of [{ projectId: [here] }, { projectId: [here], agentId: [other] }])
      expect(narrowed(filter, projects)).toBe(filter);
  });

  test("gets the ids of one kind where that is enough", () => {
    expect(narrowed({}, agents)).toEqual({ agentId: [mine] });
    expect(narrowed({ projectId: [here] }, agents)).toEqual({ projectId: [here], agentId: [mine] });
    expect(narrowed({}, projects)).toEqual({ projectId: [here] });
    expect(narrowed({ agentId: [other] }, projects)).toEqual({ agentId: [other], projectId: [here] });
  });

  test("gets the whole reach otherwise, also for unreachable things", () => {
    expect(narrowed({}, both)).toEqual({ among: both.reach });
    expect(narrowed({ projectId: [here] }, both)).toEqual({ projectId: [here], among: both.reach });
    expect(narrowed({ agentId: [mine, other] }, agents)).toEqual({ agentId: [mine, other], among: agents.reach });
    expect(narrowed({ projectId: [there] }, projects)).toEqual({ projectId: [there], among: projects.reach });
    expect(narrowed({}, reach([], []))).toEqual({ agentId: [] });
  });
});
