/** A server with its own data folder and port, for `autograph demo`: stopped and removed when disposed. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { OperatorError } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { CommandLine } from "../line/command-line.ts";

type TemporaryServer = { url: string; dataFolder: string } & AsyncDisposable;

const MAIN = path.join(import.meta.dirname, `../../main${path.extname(import.meta.filename)}`);
/** The operator's own settings do not apply to this server; an empty value counts as none. */
const UNSET = {
  DATABASE_URL: "",
  PUBLIC_URL: "",
  ADMIN_EMAIL: "",
  ADMIN_PASSWORD: "",
  SECRET_KEY: "",
  TRUSTED_PROXIES: "",
};
/** A server that hangs ends itself sooner. */
const STOP_TIMEOUT_MS = (LIMITS.stopSeconds + 10) * 1_000;

export async function startTemporaryServer({ environment, terminal }: CommandLine): Promise<TemporaryServer> {
  const folder = mkdtempSync(path.join(tmpdir(), "autograph-demo-"));
  const child = spawn(process.execPath, [MAIN, `--parent=${process.pid}`], {
    cwd: folder,
    env: { ...environment, ...UNSET, HOST: "127.0.0.1", PORT: "0", DATA_DIR: folder, LOG_LEVEL: "warn" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stop = async (): Promise<void> => {
    await end(child);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  try {
    const url = await readyUrl(child);
    child.stderr.on("data", (text: string) => terminal.say(text.trimEnd()));
    return { url, dataFolder: folder, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** From the line `ready at <URL>`; if the server ends earlier, its stderr is the reason. */
async function readyUrl(child: ChildProcess): Promise<string> {
  let said = "";
  let printed = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-4_000)));
  for await (const text of child.stdout!.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    printed += text as string;
    const [, url] = /^ready at (\S+)\n/m.exec(printed) ?? [];
    if (url === undefined) continue;
    child.stdout!.resume();
    return url;
  }
  throw new OperatorError(`the demo's server did not start: ${said.trim().split("\n").at(-1) || "it said nothing"}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(late);
}
