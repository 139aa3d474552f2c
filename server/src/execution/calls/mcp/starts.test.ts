import { expect, test } from "vitest";
import { newId } from "../../../lib/ids.ts";
import { Starts } from "./starts.ts";

const ORGANIZATIONS = [newId<"organization">(), newId<"organization">()] as const;
const never = new AbortController().signal;
const hold = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end;);
};

test("starts take a tenth of the thread at most, in turns of organizations", async () => {
  const [flooding, other] = ORGANIZATIONS;
  const starts = new Starts();
  const order: string[] = [];
  const start = async (name: string, organizationId: (typeof ORGANIZATIONS)[number]): Promise<void> => {
    expect(await starts.take(organizationId, never)).toBe(true);
    starts.start(organizationId, () => hold(5));
    order.push(name);
  };
  const begunAt = performance.now();
  const floods = ["a", "b", "c", "d"].map((name) => start(name, flooding));
  await Promise.all([...floods, start("other", other)]);
  expect(order.indexOf("other")).toBeLessThan(3);
  // Five of 5 ms, and nine times as long after each but the last.
  expect(performance.now() - begunAt).toBeGreaterThan(5 * 5 + 4 * 45 - 10);
});

test("who gives up waits no longer, and one that fails takes its time too", async () => {
  const [one] = ORGANIZATIONS;
  const starts = new Starts();
  await starts.take(one, never);
  const over = new AbortController();
  const waiting = starts.take(one, over.signal);
  over.abort();
  expect(await waiting).toBe(false);
  const fail = (): never => {
    throw new Error("E2BIG");
  };
  expect(() => starts.start(one, fail)).toThrow("E2BIG");
  expect(await starts.take(one, never)).toBe(true);
});
