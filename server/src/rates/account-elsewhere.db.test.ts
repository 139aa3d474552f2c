/** Budgets of models while another process has an organization's account. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { bundled } from "../../../test/bundle.ts";
import { makeOwner, openAuth } from "../auth/handle/auth.testsuite.ts";
import type { Database } from "../storage/database.ts";
import { OverBudget, type Reserved } from "./budgets.ts";
import {
  allWritten,
  connectionOf,
  openReservations,
  openWorld,
  plannedCall,
  reserve,
  spentOf,
  world,
} from "./budgets.testsuite.ts";

openWorld();

/** Another process has the organization's account until this connection ends. */
async function holdAccount(): Promise<Awaited<ReturnType<Database["dedicated"]>>> {
  const holder = await world.database.dedicated();
  await holder.query("select pg_advisory_lock(hashtextextended('models ' || $1, 0))", [world.organizationId]);
  return holder;
}

test("a call that is given up while another process has the account reserves nothing", async () => {
  const holder = await holdAccount();
  const over = new AbortController();
  const call = plannedCall();
  const waiting = world.both[0].reserve(call, over.signal);
  over.abort(new Error("cancelled"));
  await expect(waiting).rejects.toThrow("cancelled");
  await expect(world.both[0].reserve(call, over.signal)).rejects.toThrow("cancelled");
  await holder.end();
  expect(await reserve({})).not.toBeInstanceOf(OverBudget);
  await allWritten();
  await expect.poll(openReservations).toBe(1);
});

test("what a call used is written by a server that stops while another process has the account, once that has died", async () => {
  const reserved = (await reserve({})) as Reserved;
  const holder = await holdAccount();
  reserved.settle({ tokens: 30, cost: 0 });
  await sleep(100);
  let isClosed = false;
  const closing = world.both[0][Symbol.asyncDispose]().then(() => (isClosed = true));
  await sleep(100);
  expect(isClosed).toBe(false);
  await holder.end();
  await closing;
  expect([await spentOf(world.organizationId), await openReservations()]).toEqual([30, 0]);
});

test("a call waits half a minute while another process has the account, and no longer", async () => {
  const holder = await holdAccount();
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  performance.now = () => now() + aheadMs;
  try {
    const waiting = reserve({}).catch((error: unknown) => (error as { code: string }).code);
    await sleep(100);
    aheadMs = 20_000;
    expect(await Promise.race([waiting, sleep(200)])).toBeUndefined();
    aheadMs = 30_000;
    expect(await waiting).toBe("UNAVAILABLE");
  } finally {
    Reflect.deleteProperty(performance, "now");
    await holder.end();
  }
  await allWritten();
  expect(await openReservations()).toBe(0);
});

test("of the calls that wait while another process has the account, the first to come gets the room", async () => {
  world.tokensOfPlan = 150;
  const holder = await holdAccount();
  const calls = [reserve({})];
  await sleep(600);
  for (let times = 0; times < 8; times++) {
    calls.push(reserve({}));
    await sleep(30);
  }
  await holder.end();
  const [first, ...others] = await Promise.all(calls);
  expect(first).not.toBeInstanceOf(OverBudget);
  for (const other of others) expect(other).toMatchObject({ isBusy: true });
});

test("while a process stands still in a transaction, other organizations wait for nothing, and its own for seconds", async () => {
  const other = await makeOwner(openAuth(world.database));
  const { connectionString } = world.database.connection;
  const child = fork(bundled("rates/stopping.testsuite"), [connectionString!, world.organizationId], {
    stdio: "inherit",
  });
  try {
    await once(child, "message");
    // Late by this machine's time too, which the other process goes by.
    const own = reserve({ endsBy: Date.now() + 600_000 }).then(() => "own");
    const another = async (): Promise<string> => {
      await reserve({ organizationId: other.caller.organizationId });
      return "another";
    };
    for (let times = 0; times < 3; times++) expect(await Promise.race([own, another()])).toBe("another");
    expect(await own).toBe("own");
    child.kill("SIGCONT");
    const [outcome] = (await once(child, "message")) as [string];
    expect(outcome).toBe("unavailable");
    expect(await openReservations()).toBe(1);
  } finally {
    child.kill("SIGKILL");
  }
});

test("the use of an organization is read while another's, of which a process has the account, waits to be written", async () => {
  const other = await makeOwner(openAuth(world.database));
  const connection = connectionOf({});
  const of = { organizationId: other.caller.organizationId, connection };
  const [own, others] = [(await reserve({})) as Reserved, (await reserve(of)) as Reserved];
  const holder = await holdAccount();
  try {
    own.settle({ tokens: 10, cost: 0 });
    const isWritten = world.both[0].settled(world.organizationId).then(() => "written");
    others.settle({ tokens: 30, cost: 0 });
    const spent = world.both[0].spendOf(of.organizationId, [{ connectionId: connection.id, days: 1 }]);
    expect(await Promise.race([isWritten, spent])).toMatchObject([[{ tokens: 30 }]]);
    expect(await Promise.race([isWritten, world.both[0].settled(of.organizationId)])).toBe(undefined);
  } finally {
    await holder.end();
  }
  expect(await spentOf(world.organizationId)).toBe(10);
});
