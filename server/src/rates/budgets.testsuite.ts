/** Budgets of models on a test file's own database, with a new organization before each test. */
import { afterAll, beforeAll, beforeEach } from "vitest";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { makeOwner, openAuth, quiet, startDatabases } from "../auth/handle/auth.testsuite.ts";
import { newId, type ModelConnectionId, type OrganizationId, type RunId } from "../lib/ids.ts";
import type { Database } from "../storage/database.ts";
import { createBudgets, OverBudget, type Budgets, type PlannedCall, type Reserved } from "./budgets.ts";
import { callOf } from "./planned-call.testsuite.ts";

type World = {
  database: Database;
  clock: TestClock;
  organizationId: OrganizationId;
  /** A day, for models. Null: without a limit. */
  tokensOfPlan: number | null;
  /** As two processes have them. */
  both: [Budgets, Budgets];
};

export const world = {} as World;

export function openWorld(): void {
  const stack = new AsyncDisposableStack();
  beforeAll(async () => {
    const databases = stack.use(await startDatabases());
    world.database = stack.use(await databases.open());
  });
  afterAll(() => stack.disposeAsync());
  beforeEach(async () => {
    const { caller } = await makeOwner(openAuth(world.database));
    Object.assign(world, { clock: testClock(), organizationId: caller.organizationId, tokensOfPlan: null });
    world.both = [openBudgets(), openBudgets()];
  });
}

export function openBudgets(database = world.database): Budgets {
  const allowanceOf = async () => ({ plan: "free" as const, modelTokensPerDay: world.tokensOfPlan });
  return createBudgets({ database, clock: world.clock, log: quiet, allowanceOf });
}

/** By default without limits. */
export const connectionOf = (own: object): NonNullable<PlannedCall["connection"]> => ({
  id: newId<"modelConnection">(),
  name: "cheap",
  tokensPerDay: null,
  costPerDay: null,
  ...own,
});

export const plannedCall = (own: Partial<PlannedCall> = {}): PlannedCall =>
  callOf(world.organizationId, world.clock.now(), own);

export const reserve = (own: Partial<PlannedCall>, budgets = world.both[0]): Promise<Reserved | OverBudget> =>
  budgets.reserve(plannedCall(own)).catch((error: unknown) => {
    if (error instanceof OverBudget) return error;
    throw error;
  });

/** Resolves once both processes have written what calls used. */
export const allWritten = (): Promise<unknown> =>
  Promise.all(world.both.map((budgets) => budgets.settled(world.organizationId)));

/** Null: nothing. */
export async function spentOf(subject: OrganizationId | ModelConnectionId | RunId): Promise<number | null> {
  await allWritten();
  const rows = await world.database.query(
    "select sum(tokens)::int as tokens from model_spend where organization_id = $1 and subject = $2",
    [world.organizationId, subject],
  );
  return rows[0]!["tokens"];
}

export async function openReservations(): Promise<number> {
  const { database, organizationId } = world;
  return (await database.query("select 1 from model_reservations where organization_id = $1", [organizationId])).length;
}
