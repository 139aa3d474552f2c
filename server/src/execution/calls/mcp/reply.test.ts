import { expect, test } from "vitest";
import { threadMs } from "../../../lib/processor-time.testsuite.ts";
import { repliedTo, replyIn } from "./reply.ts";

const headers = { "content-type": "text/event-stream" };
const response = { status: 200, statusText: "", headers, setCookies: [] };

/** Asked after each `step` bytes. */
async function asked(body: Buffer, step: number): Promise<number> {
  const isEnough = repliedTo({ id: 1, headers: {} }, () => undefined);
  const before = threadMs();
  for (let end = step; end <= body.length; end += step)
    expect(await isEnough({ ...response, body: body.subarray(0, end) })).toBe(false);
  return threadMs() - before;
}

test.each([
  ["each event", 'data:{"id":1,"method":""}\n\n'.repeat(4_000), 27],
  ["each byte", "\na".repeat(16_000), 1],
])("a stream that is asked about after %s is looked through once", async (_, text, step) => {
  const body = Buffer.from(text);
  const half = await asked(body.subarray(0, body.length / 2), step);
  const whole = await asked(body, step);
  expect(whole).toBeLessThan(2.5 * half + 100);
});

test("an event that came in two pieces is found, whichever way its lines end", async () => {
  for (const newline of ["\n", "\r", "\r\n"]) {
    const text = `: hi${newline}${newline}data: {"id": 1,${newline}data: "result": {}}${newline}${newline}`;
    for (let cut = 1; cut < text.length; cut++) {
      const isEnough = repliedTo({ id: 1, headers: {} }, () => undefined);
      await isEnough({ ...response, body: Buffer.from(text.slice(0, cut)) });
      expect([...replyIn({ headers, body: Buffer.from(text) }, 1)]).not.toEqual([]);
      const rest = await isEnough({ ...response, body: Buffer.from(text) });
      // A `\r\n` that ends the event may be cut: then the answer was there before.
      expect(rest || cut > text.length - newline.length).toBe(true);
    }
  }
});
