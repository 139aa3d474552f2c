/** Commands that are started for real, and what they do to the process that starts them. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { realClock } from "../../../lib/clock.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { RunningCommand } from "./running-command.ts";

test("a process with too many open files starts none, and lives on", async () => {
  const module = new URL("running-command.ts", import.meta.url).href;
  const script = `
    import { openSync } from "node:fs";
    const { RunningCommand } = await import(${JSON.stringify(module)});
    try { for (;;) openSync("/dev/null"); } catch {}
    try { new RunningCommand({ command: "cat", arguments: [], environment: {} }); }
    catch (error) { var why = error.fields.detail; }
    setTimeout(() => console.log(why), 10);`;
  const words = [process.execPath, "--input-type=module", "-e", script];
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", 'ulimit -n 64; exec "$@"', "sh", ...words]);
  expect(stdout).toBe("cat could not be started: this process has too many open files\n");
});

test("of the error output no more is kept than may be, also of what outlives the command", async () => {
  const writes = `
    const stdio = ["ignore", 2, "ignore"];
    require("child_process").spawn("yes", { detached: true, stdio });
    setInterval(() => {}, 1_000);`;
  const started = { command: process.execPath, arguments: ["-e", writes], environment: { PATH: process.env["PATH"]! } };
  const running = new RunningCommand(started, realClock);
  await expect(running.line()).rejects.toMatchObject({
    fields: { detail: `${process.execPath} wrote more than ${LIMITS.outputBytes} bytes to its error output` },
  });
  await running.gone;
  expect(running.errors.length).toBeLessThan(LIMITS.outputBytes + 128 * 1_024);
});
