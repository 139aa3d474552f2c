/**
 * Runs that nobody would start and connections that do not go on: the same promises as in requests.test.ts, for each
 * stretch of a run, and for what is held by who does not read or does not end. `SEED` and `HOSTILE_CASE` as there.
 */
import { expect, test } from "vitest";
import { KINDS, hostileSession, lineOf } from "./session.ts";

test("expressions over large data, definitions of every sort, readers and senders that stop: no stretch of 100 ms", async () => {
  const { findings } = await hostileSession({
    shares: [
      { kind: KINDS["expression"]!, cases: 120, seconds: 45 },
      { kind: KINDS["definition-run"]!, cases: 150, seconds: 20 },
      { kind: KINDS["reader"]!, cases: 12, seconds: 20 },
      { kind: KINDS["sender"]!, cases: 25, seconds: 20 },
    ],
  });
  expect(findings.map(lineOf)).toEqual([]);
}, 240_000);
