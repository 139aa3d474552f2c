/**
 * Hundreds of requests that nobody would send, thousands with `npm run test:long`, drawn over the real schema: whatever one caller sends, the process lives,
 * every answer has a code of the closed list, no request takes 100 ms of the main thread, memory is back at the end, and
 * another organization is served meanwhile.
 *
 *     SEED=123 npm test -- test/hostile/requests.test.ts                  the same cases again
 *     HOSTILE_CASE=document:123 npm test -- test/hostile/requests.test.ts   one of them alone, of any kind
 */
import { expect, test } from "vitest";
import { scaled } from "../scale.ts";
import { KINDS, hostileSession, lineOf } from "./session.ts";

const TIMES = scaled({ whole: 10, part: 1 });

test("documents, bodies and definitions: each within 100 ms of the main thread, answered with a code of the list", async () => {
  const { findings } = await hostileSession({
    shares: [
      { kind: KINDS["document"]!, cases: 300 * TIMES, seconds: 8 * TIMES },
      { kind: KINDS["body"]!, cases: 120 * TIMES, seconds: 4 * TIMES },
      { kind: KINDS["definition"]!, cases: 80 * TIMES, seconds: 6 * TIMES },
    ],
  });
  expect(findings.map(lineOf)).toEqual([]);
});
