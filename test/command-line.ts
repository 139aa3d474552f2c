/**
 * The command line in this process, made as the built one is: a process of its own costs 0.2 s of processor time before it does
 * anything. What only a process shows (signals, pipes that close, its end) is asked of one: `startProcess` (test/cli-process.ts).
 */
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import type { runCommandLine } from "../server/src/cli/commands.ts";
import { createEnding } from "../server/src/cli/line/ending.ts";
import { realClock } from "../server/src/lib/clock.ts";
import { bundled } from "./bundle.ts";
import type { TestServer } from "./client.ts";

export type Ended = { code: number | null; stdout: string; stderr: string };

export type CliOptions = {
  /** Nothing of the test's own environment is in it. */
  env?: Record<string, string>;
  cwd?: string;
  /** Its standard input. */
  stdin?: string;
  /** Its standard output is a screen, so wide. */
  columns?: number;
};

/** Its output so far, and how it ended. */
export type Running = { readonly stdout: string; readonly stderr: string; ended: Promise<Ended> };

/** Node's own `require`: vitest would take the bundle apart into modules. */
const load = (): { runCommandLine: typeof runCommandLine } => createRequire(import.meta.url)(bundled("cli/commands"));

export function startCli(
  args: string[],
  { env = {}, cwd = import.meta.dirname, stdin = "", columns }: CliOptions = {},
): Running {
  const said = { stdout: "", stderr: "" };
  const written = (name: keyof typeof said): Writable =>
    new Writable({
      decodeStrings: false,
      write(text: string, _encoding, done) {
        said[name] += text;
        done();
      },
    });
  const ended = load().runCommandLine(args, {
    environment: { PATH: process.env["PATH"], PORT: "0", ...env },
    cwd,
    clock: realClock,
    stdin: () => Readable.from(stdin === "" ? [] : [Buffer.from(stdin)]),
    stdout: Object.assign(written("stdout"), columns !== undefined && { isTTY: true, columns }),
    stderr: written("stderr"),
    ending: createEnding(),
  });
  return {
    get stdout() {
      return said.stdout;
    },
    get stderr() {
      return said.stderr;
    },
    ended: ended.then((code) => ({ code, ...said })),
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
type Served = Pick<TestServer, "dataFolder" | "databaseUrl" | "url">;

/** The settings of who runs a server: where its data is. With a DATABASE_URL no data folder says where it listens. */
export const settingsOf = ({ dataFolder, databaseUrl, url }: Served): Record<string, string> => ({
  DATA_DIR: dataFolder,
  ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl, PORT: new URL(url).port }),
});

/** The environment of somebody beside a server: its settings and a key. */
export const beside = (
  server: Served & Pick<TestServer, "world">,
  apiKey: string = server.world?.apiKey ?? "",
): Record<string, string> => ({
  ...settingsOf(server),
  AUTOGRAPH_API_KEY: apiKey,
});
