/**
 * Thousands of requests that nobody would send, drawn over the real schema: whatever one caller sends, the process lives,
 * every answer has a code of the closed list, no request takes 100 ms of the main thread, memory is back at the end, and
 * another organization is served meanwhile.
 *
 *     SEED=123 npm test -- test/hostile/requests.test.ts                  the same cases again
 *     HOSTILE_CASE=document:123 npm test -- test/hostile/requests.test.ts   one of them alone, of any kind
 */
import { expect, test } from "vitest";
import { KINDS, hostileSession, lineOf } from "./session.ts";

test("documents, bodies and definitions: each within 100 ms of the main thread, answered with a code of the list", async () => {
  const { findings } = await hostileSession({
    shares: [
      { kind: KINDS["document"]!, cases: 1_000, seconds: 25 },
      { kind: KINDS["body"]!, cases: 400, seconds: 12 },
      { kind: KINDS["definition"]!, cases: 250, seconds: 20 },
    ],
  });
  expect(findings.map(lineOf)).toEqual([]);
});
