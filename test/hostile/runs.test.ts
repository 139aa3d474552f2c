/**
 * Runs that nobody would start and connections that do not go on: the same promises as in requests.test.ts, for each
 * stretch of a run, and for what is held by who does not read or does not end. `SEED` and `HOSTILE_CASE` as there.
 */
import { expect, test } from "vitest";
import { KINDS, hostileSession, lineOf } from "./session.ts";

test("expressions over large data, definitions of every sort, readers and senders that stop: no stretch of 100 ms", async () => {
  const { findings } = await hostileSession({
    shares: [
      { kind: KINDS["expression"]!, cases: 60, seconds: 25 },
      { kind: KINDS["definition-run"]!, cases: 80, seconds: 12 },
      { kind: KINDS["reader"]!, cases: 8, seconds: 12 },
      { kind: KINDS["sender"]!, cases: 12, seconds: 12 },
    ],
  });
  expect(findings.map(lineOf)).toEqual([]);
});
