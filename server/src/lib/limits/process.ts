/** The process. */
import { type Limit } from "./limit.ts";

const LOG = "server/src/lib/log/log.test.ts";

export const PROCESS = {
  drainSeconds: {
    value: 10,
    bounds: "how long steps under way may take to finish when the server is stopped",
    beyond: "they are interrupted, and resumed at the next start",
    test: ["test/crash.test.ts", "what takes longer than it gets is resumed at the next start"],
  },
  stopSeconds: {
    value: 25,
    bounds: "a stop as a whole",
    beyond: "the process and its PostgreSQL are ended",
    test: ["test/main.test.ts", "a stop that hangs is ended"],
  },
  standstillSeconds: {
    value: 10,
    bounds: "how long the event loop may stand still",
    beyond: "the watchdog ends the process",
    test: ["test/faults/watchdog.test.ts", "the stack are in the log, and the exit code is 70"],
  },
  loopLateSeconds: {
    value: 30,
    bounds: "how late a loop of the server may come round",
    beyond: "it is started over, and `/readyz` names it",
    test: ["server/src/lib/loops/loop.test.ts", "is noticed after 30 s"],
  },
  logLinesAlike: {
    value: 10,
    bounds: "log lines with the same text",
    beyond: "further ones are counted; once a minute the last one is written with `repeated`",
    test: [LOG, "a line that repeats is counted"],
  },
  logTextsCounted: {
    value: 200,
    bounds: "texts counted in this way at a time",
    beyond: "the oldest is forgotten",
    test: [LOG, "only some of very many texts are remembered"],
  },
  logBytesUnread: {
    value: 1024 * 1024,
    bounds: "log lines that nobody reads",
    beyond: "lines are dropped and counted",
    test: [LOG, "a reader that stands still costs a bounded number of bytes"],
  },
} satisfies Record<string, Limit>;
