/** Several processes with one clock of cron triggers, two hours around a change of Berlin's clocks. A day: `npm run soak -- --clocks`. */
import { expect, test } from "vitest";
import { runFiveClocks } from "./five-clocks.ts";
import { leftToLong, scaled } from "../scale.ts";
import { seeded } from "./random.ts";

/** Every second one is of all processes. */
const KILLS = scaled({ whole: 12, part: 2 });
const PROCESSES = scaled({ whole: 5, part: 2 });
const TRIGGERS = scaled({ whole: 100, part: 42 });
/** Berlin's clocks are turned back at 01:00 UTC. What is due there at half past two may be so half an hour before and after. */
const [START, END] = scaled({
  whole: [Date.UTC(2026, 9, 25, 0), Date.UTC(2026, 9, 25, 2)],
  part: [Date.UTC(2026, 9, 25, 0, 20), Date.UTC(2026, 9, 25, 1, 40)],
});

test.skipIf(leftToLong)(
  `${TRIGGERS} triggers fire at each instant once, while ${KILLS} times processes are killed`,
  async () => {
    const { instants, firings, runs, wrong, notStarted } = await runFiveClocks({
      start: START,
      end: END,
      triggers: TRIGGERS,
      processes: PROCESSES,
      kills: KILLS,
      random: seeded("five clocks"),
    });
    expect({ wrong, notStarted }).toEqual({ wrong: [], notStarted: 0 });
    expect({ firings, runs }).toEqual({ firings: instants, runs: instants });
  },
  660_000,
);
