/** Runs in a worker thread (scripts.ts starts it): one QuickJS, one script at a time. */
import { serveJobs } from "../threads/serve-jobs.ts";
import { ScriptMachine, type Script, type ScriptRun } from "./script-machine.ts";
import type { ScriptProblem, ScriptReply, WrittenLog } from "./script-reply.ts";

export type ScriptJob = { check: Script } | { run: ScriptRun };
export type ScriptJobReply = { problem?: ScriptProblem } | ScriptReply<WrittenLog>;

const machine = await ScriptMachine.open();

serveJobs<ScriptJobReply>(async (job: ScriptJob) => {
  const spent = (): { isSpent?: true } => (machine.isSpent ? { isSpent: true } : {});
  if ("check" in job) {
    const problem = await machine.check(job.check);
    return { reply: problem ? { problem } : {}, ...spent() };
  }
  const { isLate, ...reply } = await machine.run(job.run);
  return { reply, ...spent(), ...(isLate && { isLate }) };
});
