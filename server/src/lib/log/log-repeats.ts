/**
 * The first ten log lines with the same text are written; the rest are counted, and once a minute the last of them is
 * written with `repeated`. So a runaway loop writes one line a minute, not 104,000.
 */
import type { LogFn, Logger, LoggerOptions } from "pino";
import type { Clock } from "../clock.ts";
import { LIMITS } from "../limits.ts";

type LogMethod = NonNullable<NonNullable<LoggerOptions["hooks"]>["logMethod"]>;
type Arguments = Parameters<LogMethod>[0];

export type Repeats = {
  logMethod: LogMethod;
  /** Writes what has been counted so far. */
  flush(): void;
};

type Counted = {
  written: number;
  /** Not written since the last count. */
  repeated: number;
  /** Writes the last of them. */
  tell: (repeated: number) => void;
};

const COUNT_EVERY_MS = 60_000;
/** With `debug` every line is wanted. */
const DEBUG = 20;
const KEY_CHARACTERS = 200;

export function countRepeats(clock: Clock): Repeats {
  const texts = new Map<string, Counted>();
  let timer: Disposable | undefined;

  const count = (): void => {
    timer = undefined;
    for (const [key, text] of texts) {
      if (text.repeated === 0) texts.delete(key);
      else tell(text);
    }
    if (texts.size > 0) arm();
  };
  const arm = (): void => void (timer ??= clock.at(clock.now() + COUNT_EVERY_MS, count));

  const textOf = (key: string): Counted => {
    const known = texts.get(key);
    if (known) return known;
    // Texts are few and our own; in case one contains callers' data, the oldest goes.
    if (texts.size >= LIMITS.logTextsCounted) forgetOldest(texts);
    const text: Counted = { written: 0, repeated: 0, tell: () => {} };
    texts.set(key, text);
    arm();
    return text;
  };

  return {
    logMethod(this: Logger, values, method, level) {
      if (level <= DEBUG) return method.apply(this, values);
      const text = textOf(`${level} ${messageIn(values).slice(0, KEY_CHARACTERS)}`);
      if (text.written < LIMITS.logLinesAlike) {
        text.written++;
        return method.apply(this, values);
      }
      text.repeated++;
      text.tell = (repeated) => method.apply(this, withCount(values, repeated));
    },
    flush: () => {
      timer?.[Symbol.dispose]();
      timer = undefined;
      for (const text of texts.values()) if (text.repeated > 0) tell(text);
      texts.clear();
    },
  };
}

function tell(text: Counted): void {
  const { repeated } = text;
  text.repeated = 0;
  text.tell(repeated);
}

function forgetOldest(texts: Map<string, Counted>): void {
  const [key, text] = texts.entries().next().value!;
  texts.delete(key);
  if (text.repeated > 0) tell(text);
}

/** `log.warn("text")`, `log.warn({…}, "text")` or `log.warn(error)`. */
function messageIn([first, second]: readonly unknown[]): string {
  if (typeof first === "string") return first;
  if (typeof second === "string") return second;
  return first instanceof Error ? first.message : "";
}

function withCount(values: Arguments, repeated: number): Parameters<LogFn> {
  const [first, ...rest] = values as unknown[];
  if (typeof first === "string") return [{ repeated }, first, ...rest] as unknown as Parameters<LogFn>;
  const fields = first instanceof Error ? { err: first } : first;
  return [{ ...(fields as object), repeated }, ...rest] as unknown as Parameters<LogFn>;
}
