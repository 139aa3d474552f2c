/**
 * Hundreds of requests that nobody would send, thousands with `npm run test:long`, drawn over the real schema, runs that nobody would
 * start and connections that do not go on: whatever one caller sends, the process lives, every answer has a code of the closed list, no
 * request and no stretch of a run takes 100 ms of the main thread, memory is back at the end, and another organization is served meanwhile.
 *
 *     SEED=123 npm test -- test/hostile/requests.test.ts                  the same cases again
 *     HOSTILE_CASE=document:123 npm test -- test/hostile/requests.test.ts   one of them alone, of any kind
 */
import { expect, test } from "vitest";
import { scaled } from "../scale.ts";
import { KINDS, hostileSession, lineOf, type Share } from "./session.ts";

const TIMES = scaled({ whole: 100, part: 4 });
/** Cases that take a hundred times as long. */
const LONG_TIMES = scaled({ whole: 8, part: 0.5 });
const READERS = scaled({ whole: 24, part: 3 });

const REQUESTS: Share[] = [
  // Before a document gives their agent a limit of runs: they would wait for a place, and be charged for what the server did meanwhile.
  { kind: KINDS["message"]!, cases: 12 * TIMES, seconds: 0.4 * TIMES },
  { kind: KINDS["document"]!, cases: 30 * TIMES, seconds: 0.8 * TIMES },
  { kind: KINDS["body"]!, cases: 12 * TIMES, seconds: 0.4 * TIMES },
  { kind: KINDS["definition"]!, cases: 8 * TIMES, seconds: 0.6 * TIMES },
];
const RUNS_AND_CONNECTIONS: Share[] = [
  { kind: KINDS["expression"]!, cases: 20 * LONG_TIMES, seconds: 10 * LONG_TIMES },
  { kind: KINDS["definition-run"]!, cases: 25 * LONG_TIMES, seconds: 5 * LONG_TIMES },
  { kind: KINDS["reader"]!, cases: READERS, seconds: 5 * LONG_TIMES },
  { kind: KINDS["sender"]!, cases: 4 * LONG_TIMES, seconds: 5 * LONG_TIMES },
];
/** Memory at the end is compared with a server that has done little. */
const SESSIONS = scaled({
  whole: [REQUESTS, RUNS_AND_CONNECTIONS],
  part: [[...REQUESTS, ...RUNS_AND_CONNECTIONS]],
});

test("each request, and each stretch of a run, within 100 ms of the main thread, answered with a code of the list", async () => {
  for (const shares of SESSIONS) {
    const { findings } = await hostileSession({ shares });
    expect(findings.map(lineOf)).toEqual([]);
  }
});
