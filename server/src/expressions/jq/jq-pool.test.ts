import { spawn } from "node:child_process";
import { once } from "node:events";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { TimedThread } from "../../threads/timed-thread.ts";
import { watchWorkers } from "../../threads/watch-workers.testsuite.ts";
import type { Job, Reply } from "./jq-program.ts";
import { JQ_THREAD } from "./jq-pool.ts";

const jqThread = (): TimedThread<Job, Reply> => new TimedThread(JQ_THREAD);

const EASY = { program: "1", input: "null" };
const ENDLESS = { program: "last(repeat(.))", input: "null" };
const LIMIT_MS = 10_000;
const ONE: { is: "reply"; reply: Reply } = { is: "reply", reply: { stdout: "1", stderr: "", exitCode: 0 } };

test("a job that arrives while the last worker stops gets a worker of its own, and all stop", async () => {
  using workers = watchWorkers();
  const thread = jqThread();
  expect(await thread.run(EASY, LIMIT_MS)).toEqual(ONE);
  // As after an idle minute: nobody awaits it.
  const ended = thread[Symbol.asyncDispose]();
  expect(await thread.run(EASY, LIMIT_MS)).toEqual(ONE);
  await ended;
  expect(await thread.run(EASY, LIMIT_MS)).toEqual(ONE);
  expect(workers.all).toHaveLength(2);
  void thread[Symbol.asyncDispose]();
  await thread[Symbol.asyncDispose]();
  expect(workers.running()).toBe(0);
});

test("a worker that ended by itself is replaced", async () => {
  using workers = watchWorkers();
  await using thread = jqThread();
  await thread.run(EASY, LIMIT_MS);
  await workers.all[0]!.terminate();
  expect(await thread.run(EASY, LIMIT_MS)).toEqual(ONE);
});

test.each([
  ["starts", "online"],
  ["works", "message"],
])("a stop while it %s ends it at once, and it can start again", async (_, event) => {
  using workers = watchWorkers();
  await using thread = jqThread();
  const outcome = thread.run(ENDLESS, LIMIT_MS);
  const [worker] = (await once(process, "worker")) as [Worker];
  await once(worker, event);
  await setImmediate();
  await thread[Symbol.asyncDispose]();
  expect(workers.running()).toBe(0);
  expect(await outcome).toEqual({ is: "gone", message: "jq was stopped" });
  expect(await thread.run(EASY, LIMIT_MS)).toEqual(ONE);
});

test("a slow program ends with its worker", async () => {
  using workers = watchWorkers();
  const thread = jqThread();
  expect(await thread.run(ENDLESS, 20)).toEqual({ is: "late" });
  expect(workers.running()).toBe(0);
});

// Before Node 24.6 this is clock time.
test.runIf("cpuUsage" in Worker.prototype)("its time is the processor's: one that had none is not late", async () => {
  const limitMs = 1_000;
  const script = `
    import { JQ_THREAD } from ${JSON.stringify(import.meta.resolve("./jq-pool.ts"))};
    import { TimedThread } from ${JSON.stringify(import.meta.resolve("../../threads/timed-thread.ts"))};
    await using thread = new TimedThread(JQ_THREAD);
    await thread.run(${JSON.stringify(EASY)}, ${limitMs});
    const outcome = thread.run({ program: "reduce range(200000) as $i (0; . + $i)", input: "null" }, ${limitMs});
    console.log("working");
    console.log((await outcome).is);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += String(chunk)));
    const ended = once(child.stdout, "end");
    await once(child.stdout, "data");
    child.kill("SIGSTOP");
    await sleep(limitMs * 1.5);
    child.kill("SIGCONT");
    await ended;
    // Where this process was late to look, both have come at once.
    expect(said).toBe("working\nreply\n");
  } finally {
    child.kill("SIGKILL");
  }
});
