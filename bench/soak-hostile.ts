/**
 * `npm run soak -- --hostile`: the cases of test/hostile/ for an hour, of all kinds by turns, against one server.
 *
 *     --minutes 60
 *     --seed        of a run to be repeated: the same cases in the same order, as far as the time goes
 *
 * Writes results/soak-hostile-<date>.json. Exit code 1 when something was found; one case alone is tried again by
 * `HOSTILE_CASE=kind:seed npm test -- test/hostile/requests.test.ts`.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { hostileSession, KINDS, lineOf, type Share } from "../test/hostile/session.ts";
import { machine, today, writeResult } from "./report.ts";

const say = (text: string): void => void process.stderr.write(`soak: ${text}\n`);

/** A minute of each kind in turn, so that an hour has all of them early and late. */
function sharesFor(minutes: number): Share[] {
  const kinds = Object.values(KINDS);
  const turns = Math.max(1, Math.round(minutes / kinds.length));
  const seconds = (minutes * 60) / (turns * kinds.length);
  return Array.from({ length: turns }, () =>
    kinds.map((kind) => ({ kind, cases: Number.MAX_SAFE_INTEGER, seconds })),
  ).flat();
}

const { values } = parseArgs({
  options: {
    hostile: { type: "boolean" },
    minutes: { type: "string", default: "60" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
  },
});
const minutes = Number(values.minutes);
const about = machine();
const { findings, spent, canary, keptBytes, seed } = await hostileSession({
  shares: sharesFor(minutes),
  seed: Number(values.seed),
  say,
});
for (const finding of findings) say(lineOf(finding));
const result = { ...about, minutes, seed, findings, spent, canary, keptBytes };
say(`written to ${writeResult(`soak-hostile-${today()}`, result)}`);
process.exitCode = findings.length > 0 ? 1 : 0;
