/** The command line as a process of its own, from its sources, with nothing of the test's environment. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { bundled } from "./bundle.ts";
import { COMPILED } from "./compile-cache.ts";
import type { TestServer } from "./client.ts";

export type Ended = { code: number | null; stdout: string; stderr: string };

export type CliOptions = {
  env?: Record<string, string>;
  cwd?: string;
  /** What is piped in. */ stdin?: string;
  file?: string;
};

export type CliProcess = {
  readonly stdout: string;
  readonly stderr: string;
  ended: Promise<Ended>;
  kill(signal: NodeJS.Signals): void;
};

/** `file` is another program than the command line: an example, say. */
export function startCli(
  args: string[],
  { env = {}, cwd = import.meta.dirname, stdin = "", file = bundled("cli/main") }: CliOptions = {},
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

export const cli = (args: string[], options?: CliOptions): Promise<Ended> => startCli(args, options).ended;

/** Stdout as JSON; what went wrong is the error. */
export async function cliJson<Value>(args: string[], options?: CliOptions): Promise<Value> {
  const { code, stdout, stderr } = await cli([...args, "--json"], options);
  if (code !== 0) throw new Error(`autograph ${args.join(" ")} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Value;
}

/** A server of its own or a shared one. */
type Running = Pick<TestServer, "dataFolder" | "databaseUrl" | "url">;

/** The settings of who runs a server: where its data is. With a DATABASE_URL no data folder says where it listens. */
export const settingsOf = ({ dataFolder, databaseUrl, url }: Running): Record<string, string> => ({
  DATA_DIR: dataFolder,
  ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl, PORT: new URL(url).port }),
});

/** The environment of somebody beside a server: its settings and a key. */
export const beside = (
  server: Running & Pick<TestServer, "world">,
  apiKey: string = server.world?.apiKey ?? "",
): Record<string, string> => ({
  ...settingsOf(server),
  AUTOGRAPH_API_KEY: apiKey,
});
