/**
 * `npm run soak -- --clocks`: the five processes of test/faults/five-clocks.ts for the 25 hours of a day on which Berlin's clocks are
 * turned back, with a kill every ten minutes of that day.
 *
 *     --hours 25
 *     --seed       of a run to be repeated: the same kills, give or take what the machine does
 *
 * A whole day writes results/soak-clocks-<date>.json. Exit code 1 when a trigger fired twice or not at all.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { runFiveClocks } from "../test/faults/five-clocks.ts";
import { seeded } from "../test/faults/random.ts";
import { machine, today, writeResult } from "./report.ts";

const HOUR_MS = 3_600_000;
const KILLS_AN_HOUR = 6;
/** Midnight in Berlin. */
const START = Date.UTC(2026, 9, 24, 22);
const WHOLE_DAY = 25;

const say = (text: string): void => void process.stderr.write(`soak: ${text}\n`);

const { values } = parseArgs({
  options: {
    clocks: { type: "boolean" },
    hours: { type: "string", default: String(WHOLE_DAY) },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
  },
});
const hours = Number(values.hours);
const seed = Number(values.seed);
const kills = hours * KILLS_AN_HOUR;
const about = machine();
const since = performance.now();
const fired = await runFiveClocks({
  triggers: 100,
  processes: 5,
  start: START,
  end: START + hours * HOUR_MS,
  kills,
  random: seeded("five clocks", seed),
  say,
});
const minutes = (performance.now() - since) / 60_000;
for (const line of fired.wrong) say(line);
const result = { ...about, seed, hours, kills, minutes, ...fired };
console.log(JSON.stringify(result, undefined, 2));
if (hours >= WHOLE_DAY) say(`written to ${writeResult(`soak-clocks-${today()}`, result)}`);
const { instants, firings, runs, wrong, notStarted } = fired;
process.exitCode = wrong.length > 0 || notStarted > 0 || firings !== instants || runs !== instants ? 1 : 0;
