import type { Worker } from "node:worker_threads";

/** The worker threads started meanwhile. */
export function watchWorkers(): { all: Worker[]; running(): number } & Disposable {
  const all: Worker[] = [];
  const add = (worker: Worker): void => void all.push(worker);
  process.on("worker", add);
  return {
    all,
    running: () => all.filter(({ threadId }) => threadId !== -1).length,
    [Symbol.dispose]: () => void process.off("worker", add),
  };
}
