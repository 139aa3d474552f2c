/** The README's own commands, pasted into a shell as they stand, against a server that nobody has set up yet. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { bundled } from "./bundle.ts";
import { cli, settingsOf } from "./command-line.ts";
import { COMPILED } from "./compile-cache.ts";
import { startTestServer } from "./client.ts";
import { scaled } from "./scale.ts";

const ROOT = path.join(import.meta.dirname, "..");
const README = readFileSync(path.join(ROOT, "README.md"), "utf8");
const URL_IN_README = "http://127.0.0.1:4400";

/** The text between ```sh and ```; the first block starts the server. */
const [START, ...PASTED] = [...README.matchAll(/^```sh\n(.*?)^```/gms)].map(([, text]) => text!);

/** `-H`: an exclamation mark means as much as in a terminal. */
const SHELLS: Record<string, string[]> = {
  bash: ["--norc", "-o", "history", "-H", "-s"],
  dash: ["-s"],
  zsh: ["-f", "-s"],
};

/**
 * Stands before the real `npx`, which takes 0.4 s of processor time before the command line begins. `isReal`: that runs the first command,
 * and finds the command line. How a shell reads the lines needs only the command line.
 */
function makeNpx(isReal: boolean): { folder: string } & Disposable {
  const folder = mkdtempSync(path.join(os.tmpdir(), "autograph-npx-"));
  const first = path.join(folder, "first");
  if (isReal) writeFileSync(first, "");
  const script = `#!/bin/sh
if [ -e '${first}' ]; then
  rm '${first}'
  PATH='${process.env["PATH"]}' exec npx "$@"
fi
[ "$1" = autograph ] || exit 127
shift
NODE_COMPILE_CACHE='${COMPILED}' exec '${process.execPath}' '${bundled("cli/main")}' "$@"
`;
  writeFileSync(path.join(folder, "npx"), script, { mode: 0o755 });
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

async function paste(shell: string, text: string, env: Record<string, string>) {
  const child = spawn(shell, SHELLS[shell], {
    cwd: ROOT,
    env: { HOME: env["DATA_DIR"], ...env },
  });
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (said.stdout += piece));
  child.stderr.setEncoding("utf8").on("data", (piece: string) => (said.stderr += piece));
  child.stdin.end(text);
  await once(child, "close");
  return said;
}

test("the first block starts the server", () => {
  expect(START).toBe("npm start\n");
});

test("no line has a comment: a shell that is typed into need not know them", () => {
  expect(PASTED.join("").match(/^.*(^|\s)#.*$/gm)).toBeNull();
});

test.for(scaled({ whole: Object.keys(SHELLS), part: ["bash"] }))("the others work in %s", async (shell, { skip }) => {
  skip(spawnSync(shell, ["-c", ":"]).error !== undefined, `there is no ${shell}`);
  await using server = await startTestServer({ fresh: true });
  const text = PASTED.join("\n");
  expect(text).toContain(URL_IN_README);
  using npx = makeNpx(shell === "bash");
  const PATH = `${npx.folder}:${process.env["PATH"]}`;
  const env = { ...settingsOf(server), PATH };
  const { stdout, stderr } = await paste(shell, text.replaceAll(URL_IN_README, server.url), env);

  const answers = [...stdout.matchAll(/^\{"data":.*$/gm)].map(([line]) => JSON.parse(line).data);
  const picked = [...stderr.matchAll(/^\{"data":.*$/gm)].map(([line]) => JSON.parse(line).data);
  expect(`${stdout}${stderr}`).not.toContain('"errors"');
  expect(answers[0].agents.map(({ handle }: any) => handle)).toContain("expense-approval");
  expect(picked.map((data) => Object.keys(data)[0])).toEqual(["agentByHandle", "runAgent", "approvals", "rerunRun"]);
  expect(picked[1].runAgent.status).toBe("paused");
  expect(answers.slice(1).map((data) => Object.values<any>(data)[0].status ?? "list")).toEqual([
    "approved",
    "completed",
    "cancelled",
    "list",
  ]);
  const watched = [...stdout.matchAll(/^data: (\{.*)$/gm)].map(
    ([, event]) => JSON.parse(event!).data.runUpdated.status,
  );
  expect(watched.at(-1)).toBe("completed");
  // The command line's own part.
  expect(stdout).toMatch(/^run_\w+ of order-intake \d/m);
  expect(stdout).toMatch(/^id +asked +question\napproval_\w+ /m);
  expect(stdout).toMatch(/^id +status +created +agent\nrun_\w+ +paused /m);
  expect(stderr).not.toMatch(/^autograph: /m);
  const [, agent] = /^```yaml\n(.*?)^```/ms.exec(README)!;
  const published = await cli(["publish", "-"], { env: settingsOf(server), stdin: agent! });
  expect(published).toMatchObject({ code: 0, stdout: expect.stringContaining("demo/greet 1.0.0, active") });
});
