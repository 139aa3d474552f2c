/** Memory and time of the files that models are shown. */
import { expect, test } from "vitest";
import { testClock } from "../../../../../test/clock.ts";
import { newId } from "../../../lib/ids.ts";
import { LIMITS } from "../../../lib/limits.ts";
import type { OutboundRequest, OutboundResponse } from "../../../outbound/outbound.ts";
import { ModelFiles } from "./files.ts";

const HELD = 4;
const signal = new AbortController().signal;
const organizationId = newId<"organization">();
const reading = { organizationId, signal, turn: () => undefined };
const text = (body: string): OutboundResponse => ({
  status: 200,
  statusText: "",
  url: "",
  headers: { "content-type": "text/plain" },
  setCookies: [],
  body: Buffer.from(body),
});
const sourcesOf = (...urls: string[]) => urls.map((url, index) => ({ url, place: `files[${index}]` }));

function opened(answer: (request: OutboundRequest) => Promise<OutboundResponse> = async () => text("words")) {
  const clock = testClock();
  return { clock, files: new ModelFiles({ request: answer }, clock) };
}

test("files hold the most that they may have, and what they have once they are read", async () => {
  const held: number[] = [];
  const { files } = opened(async () => {
    held.push(charge.amount);
    return text("words");
  });
  using charge = files.open(organizationId);
  await files.read(sourcesOf("http://example.com/a", "data:,x"), charge, reading);
  expect(held).toEqual([HELD * (LIMITS.modelFileBytes + "data:,x".length)]);
  expect(charge.amount).toBe(HELD * "wordsx".length);
});

test("a data: URL holds as many bytes as its letters have", async () => {
  const { files } = opened();
  using charge = files.open(organizationId);
  await files.read(sourcesOf(`data:,${"\u00e9".repeat(100)}\u6f22`), charge, reading);
  expect(charge.amount).toBe(HELD * 203);
});

test("all files of a call have a minute in all", async () => {
  const limits: (number | undefined)[][] = [];
  const { clock, files } = opened(async ({ timeoutMs, limitMs }) => {
    limits.push([timeoutMs, limitMs]);
    clock.pass(25_000);
    return text("words");
  });
  using charge = files.open(organizationId);
  const urls = Array.from({ length: 4 }, (_, index) => `http://example.com/${index}`);
  await files.read(sourcesOf(...urls), charge, reading);
  const whole = LIMITS.modelFilesSeconds * 1_000;
  expect(limits).toEqual([
    [whole, whole],
    [35_000, whole],
    [10_000, whole],
    [1, whole],
  ]);
});

test("a call that finds no memory for its files waits ten seconds, and is to come again", async () => {
  const { clock, files } = opened();
  const urls = sourcesOf("http://example.com/a", "http://example.com/b");
  const most = HELD * LIMITS.modelFilesBytes;
  using one = files.open(organizationId);
  expect(await one.hold(most, signal)).toBe(true);
  // The same organization has not the part for one as well; another one has.
  using two = files.open(organizationId);
  const waiting = files.read(urls, two, reading);
  using other = files.open(newId<"organization">());
  expect(await files.read(urls, other, { ...reading, organizationId: other.organizationId! })).toHaveLength(2);
  clock.pass(LIMITS.modelFilesWaitSeconds * 1_000);
  expect(await waiting).toBeUndefined();
  expect(two.amount).toBe(0);
  const cancelled = new AbortController();
  using three = files.open(organizationId);
  const given = files.read(urls, three, { ...reading, signal: cancelled.signal });
  cancelled.abort(new Error("cancelled"));
  await expect(given).rejects.toThrow("cancelled");
});
