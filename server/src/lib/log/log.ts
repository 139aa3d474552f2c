/**
 * JSON lines on stderr, readable lines on a terminal. Removes credentials by name and by shape before writing, and shows ids
 * as the API does.
 * Repeated lines are counted; a reader that is gone, stalled or out of space never ends the process.
 */
import { pino, type Logger } from "pino";
import { realClock, type Clock } from "../clock.ts";
import { LIMITS } from "../limits.ts";
import { withApiIds } from "./log-ids.ts";
import { countRepeats } from "./log-repeats.ts";

export type Log = Pick<Logger, "debug" | "info" | "warn" | "error"> & { child(bindings: Record<string, unknown>): Log };

type LogOptions = {
  out?: NodeJS.WritableStream & { isTTY?: boolean; writableLength: number };
  clock?: Clock;
};

const SECRET_NAMES = [
  "password",
  "accessToken",
  "refreshToken",
  "secret",
  "authorization",
  "token",
  "apiKey",
  "cookie",
];
/**
 * In time that grows with the text. An access token is looked for once in a word, from the word's beginning, and a lookahead does not
 * try again: from each `eyJ` of a megabyte without a dot it would take minutes.
 */
const SECRET_SHAPES =
  /ag_live_[\w-]+|Bearer\s+[\w.~+/-]+=*|(?<![\w-])(?=([\w-]*?eyJ[\w-]+))\1\.[\w-]+\.[\w-]+|rt_[\w.-]{20,}|(?<=\/webhook\/[\w-]+\/)[\w-]+/g;

export const redact = (text: string): string => text.replace(SECRET_SHAPES, "[redacted]");

const clockTime = (time: number): string => new Date(time).toISOString().slice(11, 23);

/** One line for people: `12:00:01.250 info  text key=value`. */
function readable(line: string): string {
  const { level, time, msg, pid: _pid, hostname: _hostname, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const name =
    ({ 20: "debug", 30: "info ", 40: "warn ", 50: "error" } as Record<number, string>)[level as number] ?? "     ";
  const extra = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return `${clockTime(time as number)} ${name} ${[msg, ...extra].join(" ")}\n`;
}

/** Disposing writes what it has counted. `mute` stops all writing, once the process has said why it ends. */
export function createLog(
  level: string,
  { out = process.stderr, clock = realClock }: LogOptions = {},
): Log & Disposable & { mute(): void } {
  let dropped = 0;
  let isMuted = false;
  const write = (line: string): void => {
    if (isMuted) return;
    // The reader has stalled: what a pipe does not take stays in this process.
    if (out.writableLength > LIMITS.logBytesUnread) return void dropped++;
    if (dropped > 0) {
      const lines = dropped;
      dropped = 0;
      log.warn({ lines }, "lines of the log were dropped because nobody read them");
    }
    const safe = redact(line);
    out.write(out.isTTY ? readable(safe) : safe);
  };
  // A pipe without a reader, a full disk, a closed terminal: the next line may succeed.
  if (out.listenerCount("error") === 0) out.on("error", () => {});
  const paths = SECRET_NAMES.flatMap((name) => [name, `*.${name}`]);
  const repeats = countRepeats(clock);
  const log = pino(
    {
      level,
      base: null,
      redact: { paths, censor: "[redacted]" },
      hooks: { logMethod: repeats.logMethod },
      formatters: { log: withApiIds },
    },
    { write },
  );
  return Object.assign(log, { [Symbol.dispose]: repeats.flush, mute: () => void (isMuted = true) });
}
