/** A program as a process of its own, with nothing of the test's environment: the command line unless another is named. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { bundled } from "./bundle.ts";
import type { CliOptions, Running } from "./command-line.ts";
import { COMPILED } from "./compile-cache.ts";

export type CliProcess = Running & { kill(signal: NodeJS.Signals): void };

/** `file` is another program than the command line: an example, say. */
export function startProcess(
  args: string[],
  { env = {}, cwd = import.meta.dirname, stdin = "", file = bundled("cli/main") }: CliOptions & { file?: string } = {},
): CliProcess {
  const child = spawn(process.execPath, [file, ...args], {
    cwd,
    env: { PATH: process.env["PATH"], PORT: "0", NODE_COMPILE_CACHE: COMPILED, ...env },
  });
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.stderr += text));
  child.stdin.on("error", () => {}).end(stdin);
  return {
    get stdout() {
      return said.stdout;
    },
    get stderr() {
      return said.stderr;
    },
    ended: once(child, "close").then(([code]) => ({ code: code as number | null, ...said })),
    kill: (signal) => void child.kill(signal),
  };
}
