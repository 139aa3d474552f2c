import { expect, test } from "vitest";
import type { AgentId, OrganizationId, ProjectId } from "../../lib/ids.ts";
import { allOf } from "../../lib/reach.ts";
import type { Database } from "../../storage/database.ts";
import { createBadgeCounts } from "./badge-counts.ts";

/** A database in which each count takes until the test lets it end. */
function slowDatabase(): { database: Database; begun: string[]; endOne: () => Promise<void> } {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const hot = async (_name: string, _text: string, [organization, project]: unknown[]): Promise<object[]> => {
    begun.push([organization, project].join(" ").trim());
    await new Promise<void>((resolve) => ends.push(resolve));
    return [{ count: begun.length }];
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  return {
    database: { hot } as unknown as Database,
    begun,
    async endOne() {
      await turn();
      ends.shift()!();
      await turn();
    },
  };
}

const [large, small] = ["large", "small"] as OrganizationId[];
const project = (number: number): ProjectId => `project-${number}` as ProjectId;

test("an organization waits for one count of another's hundred projects, not for all", async () => {
  const { database, begun, endOne } = slowDatabase();
  const counts = createBadgeCounts(database);
  for (let number = 0; number < 100; number++)
    void counts.add({ within: allOf(large!), projectId: project(number), decider: null });
  const answer = counts.add({ within: allOf(small!), projectId: undefined, decider: null });
  await endOne();
  await endOne();
  expect(await answer).toEqual({ openRuns: 2, openApprovals: 0 });
  expect(begun.slice(0, 2)).toEqual(["large project-0", "small"]);
});

test("what is asked for before a count begins shares it; what is asked for later gets one of its own", async () => {
  const { database, begun, endOne } = slowDatabase();
  const counts = createBadgeCounts(database);
  const wanted = { within: allOf(small!), projectId: undefined, decider: null };
  const early = Array.from({ length: 50 }, () => counts.add(wanted));
  await new Promise((resolve) => setImmediate(resolve));
  const late = Array.from({ length: 50 }, () => counts.add(wanted));
  await endOne();
  await endOne();
  expect((await Promise.all(early)).map(({ openRuns }) => openRuns)).toEqual(early.map(() => 1));
  expect((await Promise.all(late)).map(({ openRuns }) => openRuns)).toEqual(late.map(() => 2));
  expect(begun).toEqual(["small", "small"]);
});

test("who reaches something else gets a count of their own", async () => {
  const { database, begun, endOne } = slowDatabase();
  const counts = createBadgeCounts(database);
  const reach = (id: string) => ({ projectIds: [], agentIds: [id as AgentId], shownProjectIds: [] });
  const of = [undefined, reach("one"), reach("other")].map((one) =>
    counts.add({ within: { organizationId: small!, reach: one }, projectId: undefined, decider: null }),
  );
  for (let count = 0; count < 3; count++) await endOne();
  expect((await Promise.all(of)).map(({ openRuns }) => openRuns)).toEqual([1, 2, 3]);
  expect(begun).toHaveLength(3);
});
