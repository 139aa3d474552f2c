/** Runs in a worker thread: does one job after the other. The other end is timed-thread.ts. */
import { parentPort } from "node:worker_threads";
import type { Answer } from "./timed-thread.ts";

type Done<Reply> = Omit<Answer<Reply>, "cpuMs">;

/** If `work` throws or rejects, the thread is unusable. */
export function serveJobs<Reply>(work: (job: never) => Done<Reply> | Promise<Done<Reply>>): void {
  const answer = (what: Done<Reply>): void => {
    const { user, system } = process.threadCpuUsage();
    parentPort!.postMessage({ ...what, cpuMs: (user + system) / 1_000 } satisfies Answer<Reply>);
  };
  parentPort!.on("message", (job: unknown) => {
    void (async () => {
      try {
        answer(await work(job as never));
      } catch (error) {
        answer({ broke: (error as Error).message });
      }
    })();
  });
  answer({});
}
