/**
 * Runs scripts in threads of their own, and compiles them for the linter. A script has no effect outside, so one that exceeds a short time is
 * run again where it may take longer.
 */
import { hash } from "node:crypto";
import path from "node:path";
import type { OrganizationId } from "../lib/ids.ts";
import { Refusal } from "../lib/errors.ts";
import type { Log } from "../lib/log/log.ts";
import { LIMITS } from "../lib/limits.ts";
import { charactersIn } from "../lib/text.ts";
import { FairThreads } from "../threads/fair-threads.ts";
import type { Outcome, ThreadKind } from "../threads/timed-thread.ts";
import { MAX_ERROR_CHARACTERS } from "./prelude.ts";
import type { Script, ScriptRun } from "./script-machine.ts";
import { lateOf, TOO_LARGE, type ScriptProblem, type ScriptReply, type WrittenLog } from "./script-reply.ts";
import type { ScriptJob, ScriptJobReply } from "./script-worker.ts";

export type { Script } from "./script-machine.ts";
export type { ScriptProblem, ScriptReply } from "./script-reply.ts";

/** `values` is called when the script's turn has come. `hide`: hides secrets in a text up to a place in it. */
type AskedScript = Script & {
  organizationId: OrganizationId;
  values: () => string | Promise<string>;
  now: number;
  limitMs: number;
  signal?: AbortSignal;
  hide?: Hide;
};
type Hide = (text: string, end: number) => string | Promise<string>;

export type Scripts = {
  /** Throws UNAVAILABLE if the thread could not be started, or was stopped with the process or by the signal. */
  run(script: AskedScript): Promise<ScriptReply>;
  /** The problem of a script that does not compile. */
  check(script: Script, organizationId: OrganizationId): Promise<ScriptProblem | undefined>;
} & AsyncDisposable;

/** The third is for others: it starts when two organizations have scripts at the same time. */
const QUICK = { threads: 3, mostShare: 2 / 3 };
/** One for each of two organizations. */
const LONG = { threads: 2, mostShare: 1 / 2 };

const AGAIN = { retryAfter: 5 };

const SCRIPT_THREAD: ThreadKind = {
  name: "the script",
  worker: new URL(`./script-worker${path.extname(import.meta.filename)}`, import.meta.url),
  settings: {},
  resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
  graceMs: 100,
};

/** Starts no thread before the first script. */
export function createScripts({ log }: { log: Log }): Scripts {
  const threads = new FairThreads<ScriptJob, ScriptJobReply>({
    kind: SCRIPT_THREAD,
    quick: QUICK,
    quickMs: LIMITS.scriptMs,
    long: LONG,
  });
  const replyOf = (outcome: Outcome<ScriptJobReply>, limitMs: number): ScriptJobReply => {
    if ("reply" in outcome && outcome.reply) return outcome.reply;
    if (outcome.is === "late") return { problem: lateOf(limitMs), log: null };
    const { message } = outcome as { message: string };
    log.debug({ reason: message }, "a script gave no answer");
    if (outcome.is === "broke") return { problem: { is: "memory", message: TOO_LARGE }, log: null };
    throw new Refusal("UNAVAILABLE", message, AGAIN);
  };
  return {
    async run({ organizationId, values, limitMs, signal, code, names, now, hide = cutAt }) {
      const outcome = await threads.run({
        organizationId,
        key: hash("sha256", `${organizationId} ${code}`),
        limitMs,
        make: async (allowedMs) => ({
          run: { code, names, now, values: await values(), limitMs: allowedMs } satisfies ScriptRun,
        }),
        ...(signal && { signal }),
      });
      return kept(replyOf(outcome, limitMs) as ScriptReply<WrittenLog>, hide);
    },
    async check({ code, names }, organizationId) {
      const limitMs = LIMITS.scriptMs;
      const outcome = await threads.run({
        organizationId,
        key: "",
        limitMs,
        make: () => ({ check: { code, names } }),
      });
      return (replyOf(outcome, limitMs) as { problem?: ScriptProblem }).problem;
    },
    [Symbol.asyncDispose]: () => threads[Symbol.asyncDispose](),
  };
}

const cutAt: Hide = (text, end) => text.slice(0, end);

async function kept(reply: ScriptReply<WrittenLog>, hide: Hide): Promise<ScriptReply> {
  const log = reply.log && (await keptLog(reply.log, hide));
  if (!("problem" in reply)) return { ...reply, log };
  const { problem } = reply;
  const message = (await hide(problem.message, MAX_ERROR_CHARACTERS)).slice(0, MAX_ERROR_CHARACTERS);
  return { problem: { ...problem, message }, log };
}

async function keptLog({ text, isCut }: WrittenLog, hide: Hide): Promise<string> {
  const end = charactersIn(text, LIMITS.scriptLogBytes);
  const shown = await hide(text, end);
  const cut = shown.slice(0, charactersIn(shown, LIMITS.scriptLogBytes));
  return isCut || end < text.length || cut.length < shown.length ? `${cut}\n… (the rest was cut)` : cut;
}
