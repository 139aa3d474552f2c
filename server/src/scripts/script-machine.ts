/**
 * QuickJS with one script in it at a time. Each begins with the same memory, copied from a snapshot over whatever the one before left there:
 * nothing of a script survives it, and that takes 0.1 ms instead of the 3 ms of a new instance. An instance whose memory
 * has grown can't be taken back like this, and is replaced.
 */
import { createHash, createHmac, randomFillSync, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import {
  EvalFlags,
  Intrinsics,
  JSException,
  QuickJS,
  type JSValueHandle,
  type QuickJSOptions,
  type Snapshot,
} from "quickjs-wasi";
import { LIMITS } from "../lib/limits.ts";
import { HOST_FUNCTIONS, MORE_CHARACTERS, PRELUDE, type HostFunction } from "./prelude.ts";
import { lateOf, TOO_LARGE, type ScriptProblem, type ScriptReply, type WrittenLog } from "./script-reply.ts";

export type Script = { code: string; names: readonly string[] };
/** `values`: of the names, as a JSON list. `now`: the only time that the script sees, ms. */
export type ScriptRun = Script & { values: string; now: number; limitMs: number };

/** Its name in stack traces. */
const FILE = "script";
/** The author's code begins on the line after the wrapper's. */
const LINES_BEFORE = 1;
/** Beyond it a thread is replaced, as its memory would wait for the collector. */
const SPENT_BYTES = 16 * 1024 * 1024;

/** Neither `performance` nor what a collector would show. */
const INTRINSICS = Intrinsics.ALL & ~(Intrinsics.PERFORMANCE | Intrinsics.WEAK_REF);

/** `clean`: its memory before a script. */
type Instance = { vm: QuickJS; memory: Memory; start: JSValueHandle; clean: Uint8Array };
/** WebAssembly's. */
type Memory = { readonly buffer: ArrayBuffer };
type Binary = { wasm: WebAssembly.Module; encoding: WebAssembly.Module };

const moduleOf = async (name: string): Promise<WebAssembly.Module> =>
  WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve(`quickjs-wasi/${name}`))));

export class ScriptMachine {
  readonly #binary: Binary;
  #instance: Instance | undefined;
  #snapshot: Snapshot | undefined;
  /** Finds `start` in the snapshot. */
  #startToken = 0;
  /** The script that runs now. */
  #now = 0;
  #lateAtMs = Infinity;
  #isLate = false;
  #log: string[] = [];
  #end: { output: string } | { problem: ScriptProblem } | undefined;

  private constructor(binary: Binary) {
    this.#binary = binary;
  }

  static async open(): Promise<ScriptMachine> {
    const [wasm, encoding] = await Promise.all([moduleOf("quickjs.wasm"), moduleOf("encoding.so")]);
    const machine = new ScriptMachine({ wasm, encoding });
    await machine.#create();
    return machine;
  }

  /** Whether the last script has left more memory behind than may wait for the collector. */
  isSpent = false;

  /** The problem of a script that does not compile. */
  async check({ code, names }: Script): Promise<ScriptProblem | undefined> {
    // Code that closes our brackets and opens its own fits one of the two wrappers at most.
    for (const brackets of ["()", "[]"]) {
      const problem = await this.#with(({ vm }) => {
        vm.evalCode(wrapped(code, names, brackets), FILE, EvalFlags.COMPILE_ONLY);
      });
      if (problem) return placed(problem, code);
    }
    return undefined;
  }

  async run({ code, names, values, now, limitMs }: ScriptRun): Promise<ScriptReply<WrittenLog> & { isLate: boolean }> {
    this.#now = now;
    this.#lateAtMs = cpuMs() + limitMs;
    this.#isLate = false;
    this.#log = [];
    this.#end = undefined;
    const problem = await this.#with(({ vm, start }) => {
      const script = vm.evalCode(wrapped(code, names, "()"), FILE);
      const seeds = [...randomFillSync(new Int32Array(4))].map((seed) => vm.newNumber(seed));
      vm.callFunction(start, vm.undefined, script, vm.newString(values), ...seeds);
      if (!this.#isLate) vm.executePendingJobs();
    });
    this.#lateAtMs = Infinity;
    const end = this.#isLate ? { problem: lateOf(limitMs) } : problem ? { problem } : (this.#end ?? PENDING);
    const shown = "problem" in end ? { problem: placed(end.problem, code) } : end;
    return { ...shown, log: logOf(this.#log), isLate: this.#isLate };
  }

  /** Does `work` in clean memory. Handles need no disposal: the next script begins without them. */
  async #with(work: (instance: Instance) => void): Promise<ScriptProblem | undefined> {
    const instance = (this.#instance ??= await this.#restore());
    const { vm, memory, clean } = instance;
    let isSound = true;
    try {
      vm.withScope(() => work(instance));
      return undefined;
    } catch (error) {
      if (error instanceof JSException) return problemOf(error);
      // QuickJS itself gave up, such as with this thread's stack.
      isSound = false;
      return { is: "memory", message: "it needs too much stack or memory" };
    } finally {
      const { byteLength } = memory.buffer;
      if (isSound && byteLength === clean.length) new Uint8Array(memory.buffer).set(clean);
      else this.#instance = undefined;
      this.isSpent = byteLength > SPENT_BYTES;
    }
  }

  async #create(): Promise<void> {
    const opening = this.#opening();
    const vm = await QuickJS.create(opening.options);
    const given = HOST_FUNCTIONS.map((name) => vm.newFunction(name, this.#hostFunction(vm, name)));
    const prelude = vm.evalCode(PRELUDE, "prelude");
    const start = vm.callFunction(prelude, vm.undefined, ...given);
    this.#startToken = vm.exportHandle(start);
    this.#snapshot = vm.snapshot();
    this.#instance = ready(vm, opening.memory(), start);
  }

  async #restore(): Promise<Instance> {
    const opening = this.#opening();
    const vm = await QuickJS.restore(this.#snapshot!, opening.options);
    for (const name of HOST_FUNCTIONS) vm.registerHostCallback(name, this.#hostFunction(vm, name));
    return ready(vm, opening.memory(), vm.importHandle(this.#startToken));
  }

  #opening(): { options: QuickJSOptions; memory(): Memory } {
    const { wasm, encoding } = this.#binary;
    let memory: Memory | undefined;
    const options: QuickJSOptions = {
      wasm,
      extensions: [{ name: "encoding", wasm: encoding }],
      memoryLimit: LIMITS.scriptMemoryBytes,
      maxStackSize: LIMITS.scriptStackBytes,
      intrinsics: INTRINSICS,
      timezoneOffset: 0,
      interruptHandler: () => (this.#isLate ||= cpuMs() > this.#lateAtMs),
      wasi: (made) => {
        memory = made;
        return {
          clock_time_get: (_clock: number, _precision: bigint, result: number) => {
            new DataView(made.buffer).setBigUint64(result, BigInt(this.#now) * 1_000_000n, true);
            return 0;
          },
          fd_write: () => 8,
        };
      },
    };
    return { options, memory: () => memory! };
  }

  #hostFunction(vm: QuickJS, name: HostFunction): (...given: JSValueHandle[]) => JSValueHandle {
    const functions: Record<HostFunction, (...given: JSValueHandle[]) => JSValueHandle> = {
      hash: (algorithm, data) => vm.newString(createHash(algorithm.toString()).update(dataOf(data)).digest("hex")),
      hmac: (algorithm, key, data) =>
        vm.newString(createHmac(algorithm.toString(), dataOf(key)).update(dataOf(data)).digest("hex")),
      uuid: () => vm.newString(randomUUID()),
      print: (line) => {
        this.#log.push(line.toString());
        return vm.undefined;
      },
      done: (text, characters) => {
        this.#end ??= endOf(text.toString(), characters.toNumber());
        return vm.undefined;
      },
      failed: (message, stack) => {
        this.#end ??= { problem: thrown(message.toString(), stack.toString()) };
        return vm.undefined;
      },
    };
    return functions[name];
  }
}

/** Handles that live longer than a script lie in the memory that each begins with. */
function ready(vm: QuickJS, memory: Memory, start: JSValueHandle): Instance {
  void [vm.global, vm.undefined, vm.null, vm.true, vm.false];
  return { vm, memory, start, clean: new Uint8Array(memory.buffer).slice() };
}

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Strict, and on the line before the author's first. */
const wrapped = (code: string, names: readonly string[], [before, after]: string): string =>
  `${before}async function script(${names.join(", ")}) {"use strict";\n${code}\n}${after}`;

const dataOf = (value: JSValueHandle): string | Uint8Array =>
  value.isString ? value.toString() : value.toUint8Array();

const PENDING: { problem: ScriptProblem } = {
  problem: {
    is: "pending",
    message:
      "the script waits for a promise that nothing settles; there are no timers, and nothing to wait for outside",
  },
};

function endOf(output: string, characters: number): { output: string } | { problem: ScriptProblem } {
  if (characters === 0 && Buffer.byteLength(output) <= LIMITS.outputBytes) return { output };
  const message = `the script's output is larger than ${LIMITS.outputBytes} bytes`;
  return { problem: { is: "output", message } };
}

function thrown(message: string, stack: string): ScriptProblem {
  const at = /\bscript:(\d+):(\d+)/.exec(stack);
  const place = at ? { line: Number(at[1]), column: Number(at[2]) } : {};
  if (message.startsWith("InternalError: out of memory")) return { is: "memory", message: TOO_LARGE, ...place };
  return { is: "threw", message, ...place };
}

/** Explains an error that no script can catch, or that came before it began. */
function problemOf({ name, message, stack = "" }: JSException): ScriptProblem {
  const problem = thrown(`${name}: ${message}`, stack);
  return name === "SyntaxError" ? { ...problem, is: "syntax" } : problem;
}

/** In the author's lines and characters instead of our lines and QuickJS's bytes. */
function placed({ line, column, ...problem }: ScriptProblem, code: string): ScriptProblem {
  if (line === undefined) return problem;
  const lines = code.split("\n");
  const own = line - LINES_BEFORE;
  const text = lines[own - 1];
  if (own < 1) return problem;
  if (text === undefined) {
    const message = problem.is === "syntax" ? "SyntaxError: unexpected end of the code" : problem.message;
    return { ...problem, message, line: lines.length, column: lines.at(-1)!.length + 1 };
  }
  const before = Buffer.from(text).subarray(0, column! - 1);
  return { ...problem, line: own, column: before.toString().length + 1 };
}

function logOf(lines: readonly string[]): WrittenLog | null {
  if (lines.length === 0) return null;
  const bytes = Buffer.from(lines.slice(0, LIMITS.scriptLogLines).join("\n"));
  const most = LIMITS.scriptLogBytes + MORE_CHARACTERS;
  // A part of a character at the end stays in the decoder.
  const text = new TextDecoder().decode(bytes.subarray(0, most), { stream: true });
  return { text, isCut: lines.length > LIMITS.scriptLogLines || bytes.length > most };
}
