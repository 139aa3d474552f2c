/** Runs in a worker thread (jq-pool.ts): one jq, one program at a time. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { workerData } from "node:worker_threads";
import { loadJq, type Jq, type JqLoadOptions } from "jq-wasm";
import { serveJobs } from "../../threads/serve-jobs.ts";
import type { Job, Reply } from "./jq-program.ts";
import { withoutLoneSurrogates } from "./lone-surrogates.ts";

export type WorkerSettings = { memoryBytes: number };
/** Raw output: the programs write JSON text themselves, so don't quote it again. */
const FLAGS = ["-r"];

const { memoryBytes } = workerData as WorkerSettings;

type Instantiate = NonNullable<JqLoadOptions["instantiateWasm"]>;
type Done = Parameters<Instantiate>[1];

/** Node has this, but its types do not. */
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
// An instance that threw is out of memory or stack, and unusable.
serveJobs<Reply>(({ program, input }: Job) => ({
  reply: withoutLoneSurrogates(input, (json) => jq.raw(json, program, FLAGS)),
}));
