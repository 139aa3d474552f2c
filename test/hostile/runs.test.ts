/**
 * Runs that nobody would start and connections that do not go on: the same promises as in requests.test.ts, for each
 * stretch of a run, and for what is held by who does not read or does not end. `SEED` and `HOSTILE_CASE` as there.
 */
import { expect, test } from "vitest";
import { scaled } from "../scale.ts";
import { KINDS, hostileSession, lineOf } from "./session.ts";

const TIMES = scaled({ whole: 8, part: 1 });

test("expressions over large data, definitions of every sort, readers and senders that stop: no stretch of 100 ms", async () => {
  const { findings } = await hostileSession({
    shares: [
      { kind: KINDS["expression"]!, cases: 20 * TIMES, seconds: 10 * TIMES },
      { kind: KINDS["definition-run"]!, cases: 25 * TIMES, seconds: 5 * TIMES },
      { kind: KINDS["reader"]!, cases: 3 * TIMES, seconds: 5 * TIMES },
      { kind: KINDS["sender"]!, cases: 4 * TIMES, seconds: 5 * TIMES },
    ],
  });
  expect(findings.map(lineOf)).toEqual([]);
});
