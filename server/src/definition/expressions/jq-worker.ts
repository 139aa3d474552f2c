/** Runs in a worker thread: one jq, one program at a time. The other end is jq-thread.ts. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import { loadJq, type Jq, type JqLoadOptions } from "jq-wasm";
import type { Reply } from "./jq-program.ts";

/** `startedAt` holds one BigInt64: when the job began, in ns of `process.hrtime`, for the other end to read. */
export type WorkerSettings = { memoryBytes: number; startedAt: SharedArrayBuffer };
export type Job = { program: string; input: string };
/** `broke`: jq ran out of memory or of stack; this instance is of no more use. */
export type Answer = "ready" | { reply: Reply } | { broke: string };

/** The programs write JSON text themselves: as it is, not quoted once more. */
const FLAGS = ["-r"];

const { memoryBytes, startedAt } = workerData as WorkerSettings;
const clock = new BigInt64Array(startedAt);
const answer = (message: Answer): void => parentPort!.postMessage(message);

type Instantiate = NonNullable<JqLoadOptions["instantiateWasm"]>;
type Done = Parameters<Instantiate>[1];

/** Node has it, its types do not. */
declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<Parameters<Done>[1]>;
  instantiate(wasm: Parameters<Done>[1], imports: Parameters<Instantiate>[0]): Promise<Parameters<Done>[0]>;
};

/** jq as packaged may take 256 MiB. */
async function loadLimited(): Promise<Jq> {
  const wasm = await WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve("jq-wasm/jq.wasm"))));
  return loadJq({
    instantiateWasm(imports, onSuccess) {
      const functions = (imports as Record<string, Record<string, (size: number) => number>>)["a"]!;
      const [name, grow] = Object.entries(functions).find(([, each]) => each.name === "_emscripten_resize_heap")!;
      functions[name] = (size) => (size >>> 0 > memoryBytes ? 0 : grow(size));
      void WebAssembly.instantiate(wasm, imports).then((instance) => onSuccess(instance, wasm));
    },
  });
}

const jq = await loadLimited();
parentPort!.on("message", ({ program, input }: Job) => {
  Atomics.store(clock, 0, process.hrtime.bigint());
  try {
    answer({ reply: jq.raw(input, program, FLAGS) });
  } catch (error) {
    answer({ broke: (error as Error).message });
  }
});
answer("ready");
