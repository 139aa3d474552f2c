import { expect, test } from "vitest";
import { seeded } from "../../../test/faults/random.ts";
import { newId, type OrganizationId } from "../lib/ids.ts";
import { FairPool, type Charge } from "./fair-pool.ts";

const OPTIONS = { shared: 1_000, alone: 600, own: 50 };
const organization = (): OrganizationId => newId<"organization">();
const never = new AbortController().signal;

test("an organization holds as much as stays free beside it; one run more than that, in the part for one", () => {
  const memory = new FairPool(OPTIONS);
  const [flooding, other] = [organization(), organization()];
  const [first, second, third, fourth] = Array.from({ length: 4 }, () => memory.open(flooding));
  expect(first!.tryHold(500)).toBe(true);
  expect(second!.tryHold(300)).toBe(true); // alone
  expect(third!.tryHold(100)).toBe(false);
  expect(second!.tryHold(600)).toBe(true);
  expect(second!.tryHold(601)).toBe(false);
  expect(memory.open(other).tryHold(250)).toBe(true);
  second![Symbol.dispose]();
  expect(third!.tryHold(100)).toBe(true);
  expect(fourth!.tryHold(100)).toBe(false);
});

test("where charges last, an organization that holds much has not the part for one as well", () => {
  const memory = new FairPool({ ...OPTIONS, besideAlone: 50 });
  const [much, little, other] = [organization(), organization(), organization()];
  const [first, second, third] = Array.from({ length: 3 }, () => memory.open(much));
  expect([first!.tryHold(500), second!.tryHold(300)]).toEqual([true, false]);
  expect(memory.open(little).tryHold(50)).toBe(true);
  const alone = memory.open(little);
  expect(alone.tryHold(600)).toBe(true);
  first![Symbol.dispose]();
  // Nor does the organization that has it hold much beside it.
  expect(memory.open(little).tryHold(100)).toBe(false);
  expect(third!.tryHold(400)).toBe(true);
  alone[Symbol.dispose]();
  expect(memory.open(little).tryHold(100)).toBe(true);
  expect(memory.open(little).tryHold(600)).toBe(false);
  expect(memory.open(other).tryHold(600)).toBe(true);
});

test("however much the others hold, an organization's first small runs find room", () => {
  const memory = new FairPool(OPTIONS);
  for (let count = 0; count < 100; count++) {
    const charge = memory.open(organization());
    for (let bytes = 10; charge.tryHold(bytes); bytes += 10);
  }
  const first = memory.open(organization());
  expect([first.tryHold(50), first.tryHold(60)]).toEqual([true, false]);
});

test("who waits is served by turns of organizations, the small beside the large, and not after its signal", async () => {
  const memory = new FairPool(OPTIONS);
  const [a, b] = [organization(), organization()];
  const [holder, alone] = [memory.open(a), memory.open(b)];
  expect([holder.tryHold(500), alone.tryHold(600)]).toEqual([true, true]);
  const granted: string[] = [];
  const wait = async (name: string, who: OrganizationId, bytes: number, signal = never): Promise<void> => {
    const charge = memory.open(who);
    const isGranted = await charge.hold(bytes, signal);
    granted.push(isGranted ? name : `not ${name}`);
    if (isGranted) setImmediate(() => charge[Symbol.dispose]());
  };
  const leaving = new AbortController();
  const waits = [
    wait("large", a, 550),
    wait("gone", a, 60, leaving.signal),
    wait("a1", a, 100),
    wait("b1", b, 400),
    wait("b2", b, 400),
  ];
  leaving.abort();
  await waits[1];
  holder[Symbol.dispose]();
  alone[Symbol.dispose]();
  await Promise.all(waits);
  expect(granted[0]).toBe("not gone");
  expect(granted.toSorted()).toEqual(["a1", "b1", "b2", "large", "not gone"]);
  // Nothing is held any longer.
  await new Promise(setImmediate);
  expect(memory.open(a).tryHold(500)).toBe(true);
});

test("what is held is kept: less than that is no change, and a charge is given back once", () => {
  const memory = new FairPool(OPTIONS);
  const charge = memory.open(organization());
  expect([charge.tryHold(400), charge.tryHold(10), charge.amount]).toEqual([true, true, 400]);
  charge[Symbol.dispose]();
  charge[Symbol.dispose]();
  expect(charge.amount).toBe(0);
  const again = memory.open(organization());
  expect(again.tryHold(500)).toBe(true);
});

test("what is given back of a charge is for others, and a charge that then needs no part for one leaves it", async () => {
  const memory = new FairPool(OPTIONS);
  const [a, b] = [organization(), organization()];
  const [shared, alone, waiting] = [memory.open(a), memory.open(a), memory.open(b)];
  expect([shared.tryHold(500), alone.tryHold(600)]).toEqual([true, true]);
  const waits = waiting.hold(600, never);
  shared.lessenTo(200);
  shared.lessenTo(300);
  expect([shared.amount, memory.held]).toEqual([200, 800]);
  alone.lessenTo(300);
  expect(await waits).toBe(true);
  for (const charge of [shared, alone, waiting]) charge[Symbol.dispose]();
  expect(memory.held).toBe(0);
});

test("a small one never takes the part for one, however much its organization holds", () => {
  const memory = new FairPool(OPTIONS);
  const flooding = organization();
  const [most, small, large] = Array.from({ length: 3 }, () => memory.open(flooding));
  expect([most!.tryHold(500), small!.tryHold(50), large!.tryHold(600)]).toEqual([true, false, true]);
});

test("what the one leaves behind when it goes over to its own part is for those that wait", async () => {
  const memory = new FairPool(OPTIONS);
  const flooding = organization();
  const [first, growing, waiting] = Array.from({ length: 3 }, () => memory.open(flooding));
  expect([first!.tryHold(300), growing!.tryHold(200)]).toEqual([true, true]);
  void waiting!.hold(50, never);
  await new Promise(setImmediate);
  expect([waiting!.amount, memory.isWanted]).toEqual([0, true]);
  expect(growing!.tryHold(600)).toBe(true);
  await new Promise(setImmediate);
  expect([waiting!.amount, memory.isWanted]).toEqual([50, false]);
});

test("a small one behind a large one that has to wait longer goes first; with the last that leaves, memory is not wanted", async () => {
  const memory = new FairPool(OPTIONS);
  const [a, b] = [organization(), organization()];
  const [holder, alone, large, small] = [memory.open(a), memory.open(b), memory.open(a), memory.open(a)];
  expect([alone.tryHold(600), holder.tryHold(500)]).toEqual([true, true]);
  const leaving = new AbortController();
  const waits = [large.hold(600, leaving.signal), small.hold(100, never)];
  holder[Symbol.dispose]();
  expect(await waits[1]).toBe(true);
  expect([large.amount, memory.isWanted]).toEqual([0, true]);
  leaving.abort();
  expect([await waits[0], memory.isWanted]).toEqual([false, false]);
});

test("whose turn it was is the last of the round: one organization's queue keeps no other's first", async () => {
  const memory = new FairPool(OPTIONS);
  const [a, b] = [organization(), organization()];
  const before = memory.open(organization());
  expect(before.tryHold(600)).toBe(true);
  const granted: string[] = [];
  const waits = (["a1", "a2", "a3", "b1"] as const).map(async (name) => {
    const charge = memory.open(name.startsWith("a") ? a : b);
    await charge.hold(600, never);
    granted.push(name);
    charge[Symbol.dispose]();
  });
  before[Symbol.dispose]();
  await Promise.all(waits);
  expect(granted).toEqual(["a1", "b1", "a2", "a3"]);
});

type Asked = { amount: number; abort: AbortController };

test("in any order of holding, waiting, giving up and leaving, nobody waits for what it may hold", async () => {
  const random = seeded("fair pool");
  const memory = new FairPool(OPTIONS);
  const organizations = Array.from({ length: 4 }, organization);
  const holding: Charge[] = [];
  const waiting = new Map<Charge, Asked>();
  const wait = async (charge: Charge, { amount, abort }: Asked): Promise<void> => {
    const isHeld = await charge.hold(amount, abort.signal);
    waiting.delete(charge);
    if (isHeld) holding.push(charge);
  };
  for (let step = 0; step < 3_000; step++) {
    const what = random.pick(["hold", "hold", "grow", "leave", "leave", "abort", "settle"]);
    if (what === "hold" && waiting.size < 20) {
      const charge = memory.open(random.pick(organizations));
      const own = { amount: random.between(1, 600), abort: new AbortController() };
      waiting.set(charge, own);
      void wait(charge, own);
    } else if (what === "grow" && holding.length > 0) random.pick(holding).tryHold(random.between(1, 600));
    else if (what === "leave" && holding.length > 0)
      holding.splice(random.between(0, holding.length - 1), 1)[0]![Symbol.dispose]();
    else if (what === "abort" && waiting.size > 0) random.pick([...waiting.values()]).abort.abort();
    if (what !== "settle") continue;
    await new Promise(setImmediate);
    expect(memory.isWanted).toBe(waiting.size > 0);
    expect(memory.held).toBe(holding.reduce((sum, { amount }) => sum + amount, 0));
    // Would have been served if there were room: what asks now finds none.
    for (const [charge, { amount }] of waiting) {
      const another = memory.open(charge.organizationId);
      expect(another.tryHold(amount)).toBe(false);
    }
  }
});
