/** Memory of a body is given back, whichever side ends the request. */
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { testClock } from "../../../../test/clock.ts";
import { FairShare } from "../../fairness/fair-share.ts";
import { heldBytes } from "../../lib/json/held-bytes.ts";
import { createArrivals } from "./arrivals.ts";
import { readBody, type Body } from "./read-body.ts";

/** In so many pieces, of a stranger. */
async function read(text: string, pieces: number): Promise<{ body: Promise<Body>; during: number; budget: FairShare }> {
  const budget = new FairShare(10_000_000);
  using arrivals = createArrivals(budget, testClock());
  const request = Object.assign(new PassThrough(), { headers: {}, complete: true });
  const body = readBody(request as unknown as IncomingMessage, arrivals, () => undefined);
  body.catch(() => {});
  const bytes = Math.ceil(text.length / pieces);
  for (let at = 0; at < text.length; at += bytes) {
    request.write(text.slice(at, at + bytes));
    await new Promise(setImmediate);
  }
  const during = budget.takenBy(undefined);
  request.end();
  await body.catch(() => {});
  return { body, during, budget };
}

test.each([1, 3])(
  "a small one in %i pieces holds them while it comes, and nothing when it is whole",
  async (pieces) => {
    const { body, during, budget } = await read('{"query":"{ me { id } }"}', pieces);
    expect(during).toBeGreaterThan(0);
    expect(await body).toEqual({ text: '{"query":"{ me { id } }"}', release: undefined });
    expect(budget.takenBy(undefined)).toBe(0);
  },
);

test("a large one is held as what is made of it, until it is released", async () => {
  const text = `[${"{},".repeat(10_000)}{}]`;
  const { body, during, budget } = await read(text, 3);
  expect(during).toBeGreaterThan(text.length);
  expect(budget.takenBy(undefined)).toBe(heldBytes(text));
  (await body).release!();
  expect(budget.takenBy(undefined)).toBe(0);
});

test("one that is refused holds nothing any more", async () => {
  const { body, budget } = await read("x".repeat(100_000), 3);
  await expect(body).rejects.toMatchObject({ code: "REQUEST_ENTITY_TOO_LARGE" });
  expect(budget.takenBy(undefined)).toBe(0);
});

test("one whose client goes away ends, and holds nothing any more", async () => {
  const budget = new FairShare(10_000_000);
  using arrivals = createArrivals(budget, testClock());
  const request = Object.assign(new PassThrough(), { headers: {}, complete: false });
  const body = readBody(request as unknown as IncomingMessage, arrivals, () => undefined);
  request.write("x".repeat(50_000));
  await new Promise(setImmediate);
  expect(budget.takenBy(undefined)).toBeGreaterThan(50_000);
  request.destroy(new Error("aborted"));
  await expect(Promise.race([body, new Promise((resolve) => setTimeout(resolve, 5_000))])).rejects.toMatchObject({
    code: "UNAVAILABLE",
  });
  expect(budget.takenBy(undefined)).toBe(0);
});
