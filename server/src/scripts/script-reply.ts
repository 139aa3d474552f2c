/** The reply of a script, and the sentences about a script that was stopped. */
import { LIMITS } from "../lib/limits.ts";

/** Why a script has no output. `line` and `column` count from 1 in the author's code. */
export type ScriptProblem = {
  is: "threw" | "syntax" | "time" | "memory" | "pending" | "output";
  message: string;
  line?: number;
  column?: number;
};
/** `output`: JSON. `log`: null if nothing was written. */
export type ScriptReply<Log = string> = { log: Log | null } & ({ output: string } | { problem: ScriptProblem });
/** The lines of a log, longer than what is kept of it if there is more. */
export type WrittenLog = { text: string; isCut: boolean };

/** The problem of a script whose time is over. */
export const lateOf = (limitMs: number): ScriptProblem => ({
  is: "time",
  message: `the script took longer than ${limitMs} ms of processor time`,
});

export const TOO_LARGE = `the script needs more than ${LIMITS.scriptMemoryBytes / 1024 / 1024} MiB of memory, or too much stack`;
