/** PostgreSQL's folder: made by initdb and checked before each start. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { OperatorError } from "../lib/errors.ts";
import type { LastActs } from "../lib/last-acts.ts";
import { hasOwners, markOwners, OWNERS } from "./audit-owner.ts";
import type { Binaries } from "./binaries.ts";
import type { DataFolder } from "./data-folder.ts";
import { makePassword, readPassword, writePassword, writeRules } from "./postgres-password.ts";
import { isPostmasterOf, readPidFile, stopPostmaster } from "./postmaster.ts";
import { removeSocketFolder } from "./socket-folder.ts";
import { giveTo, setUpIdentity, type Identity } from "./system-user.ts";

/** The major version of the package's PostgreSQL, as in a cluster's PG_VERSION. */
const MAJOR = "18";
const DRAFT = "postgres.draft-";
/** How often a draft that comes again is removed, 20 ms apart. */
const REMOVALS = 100;
/** Owns the cluster and can't sign in. The program is `autograph`, with all rights in its database, none on the server. */
const SUPERUSER = "postgres";
const roles = (password: string): string =>
  `create role autograph login password '${password}'; alter database postgres owner to autograph;\n`;
const newPassword = (password: string): string => `alter role autograph password '${password}';\n`;

/** The options of a new cluster. Its programs end when the start is `stopped`, and must not outlive this process. */
type Tools = { binaries: Binaries; stopped?: AbortSignal | undefined; lastActs?: LastActs | undefined };

/**
 * Returns the password. Runs initdb aside and renames, so that a partial cluster never looks complete. A cluster from a
 * program without passwords, or one whose file is gone, gets a new password, and one from before the audit its owner. Call
 * under the instance lock.
 */
export async function prepareCluster(data: DataFolder, tools: Tools): Promise<string> {
  await removeDrafts(data.folder);
  writeRules(data.folder);
  const known = readPassword(data.folder);
  const password = known ?? makePassword();
  const isThere = fs.existsSync(data.cluster);
  if (isThere) checkCluster(data.cluster);
  if (!isThere) await makeCluster(data, tools, password);
  else if (known === undefined || isAnothers(data) || !hasOwners(data.cluster))
    await takeCluster(data, tools, known === undefined, password);
  return password;
}

async function makeCluster(data: DataFolder, tools: Tools, password: string): Promise<void> {
  // The user that lends its name to the set-up can't enter: the group belongs to PostgreSQL's user alone.
  const around = path.join(data.folder, `${DRAFT}${randomBytes(4).toString("hex")}`);
  const draft = path.join(around, "postgres");
  fs.mkdirSync(around, { mode: 0o710 });
  fs.mkdirSync(draft, { mode: 0o700 });
  const user = data.user && setUpIdentity(data.user);
  if (user) {
    fs.chownSync(around, 0, user.gid);
    fs.chownSync(draft, user.uid, user.gid);
  }
  // In the folder that it stands in: once that is removed, the initdb of a killed start makes no new one.
  const owned = ["-D", ".", "-U", SUPERUSER, "-A", "reject", "--no-instructions"];
  const locale = ["-E", "UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  try {
    await run(tools, "initdb", [...owned, ...locale], { cwd: draft, user });
    await runAlone(tools, draft, user, roles(password) + OWNERS);
    markOwners(draft);
    if (data.user && user !== data.user) giveTo(draft, data.user);
    writePassword(data.folder, password);
    fs.renameSync(draft, data.cluster);
  } finally {
    fs.rmSync(around, { recursive: true, force: true });
  }
}

const isAnothers = ({ cluster, user }: DataFolder): boolean =>
  user !== undefined && fs.statSync(cluster).uid !== user.uid;

/** Ends its sessions first: anyone who signed in without a password must not stay. */
async function takeCluster(data: DataFolder, tools: Tools, isNew: boolean, password: string): Promise<void> {
  await endPostmaster(data);
  const isOwned = hasOwners(data.cluster);
  if (isNew || !isOwned) {
    const user = data.user && setUpIdentity(data.user);
    if (user) giveTo(data.cluster, user);
    await runAlone(tools, data.cluster, user, (isNew ? newPassword(password) : "") + (isOwned ? "" : OWNERS));
    if (isNew) writePassword(data.folder, password);
    markOwners(data.cluster);
  }
  if (data.user) giveTo(data.cluster, data.user);
}

/** Stops what runs of this cluster, including what a killed server left. */
async function endPostmaster({ cluster }: DataFolder): Promise<void> {
  const running = readPidFile(cluster);
  if (!running || !isPostmasterOf(running.pid, cluster)) return;
  await stopPostmaster(running.pid);
  removeSocketFolder(running.socketFolder, fs.statSync(cluster));
}

/** PostgreSQL's single-user mode: a statement without anybody else. An error does not end the program, so look for one. */
async function runAlone(tools: Tools, cluster: string, user: Identity | undefined, text: string): Promise<void> {
  const quiet = ["-c", "log_min_messages=error", "-c", "log_min_error_statement=panic"];
  const args = ["--single", "-D", cluster, ...quiet, "postgres"];
  const said = await run(tools, "postgres", args, { cwd: cluster, user, input: text });
  const error = /ERROR:.*/.exec(said)?.[0];
  if (error !== undefined) throw new OperatorError(`PostgreSQL's data could not be set up (${error})`);
}

/**
 * Removes what a killed start left. Its initdb may still be writing for a moment, or removing what it wrote: where a file goes
 * meanwhile, rmSync stops without an error.
 */
async function removeDrafts(folder: string): Promise<void> {
  const drafts = fs.readdirSync(folder).filter((name) => name.startsWith(DRAFT));
  for (const draft of drafts.map((name) => path.join(folder, name))) {
    for (let removals = 0; removals < REMOVALS && fs.existsSync(draft); removals++) {
      if (removals > 0) await sleep(20);
      fs.rmSync(draft, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    }
  }
}

function checkCluster(cluster: string): void {
  const file = path.join(cluster, "PG_VERSION");
  const version = fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim() : "";
  if (version === MAJOR && fs.existsSync(path.join(cluster, "global", "pg_control"))) return;
  if (/^\d+$/.test(version) && version !== MAJOR) {
    throw new OperatorError(
      `The data in ${cluster} is PostgreSQL ${version}'s and this Autograph brings ${MAJOR}: start the version that made it, or move the folder away to start over`,
    );
  }
  throw new OperatorError(
    `The data in ${cluster} is damaged or not PostgreSQL's: restore a backup, or move the folder away to start over`,
  );
}

type Ran = { cwd: string; user: Identity | undefined; input?: string };

/** The program's output if it succeeded; otherwise one line with the last thing it said. */
function run(
  { binaries, stopped, lastActs }: Tools,
  program: "initdb" | "postgres",
  args: string[],
  { cwd, user, input = "" }: Ran,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(binaries[program], args, {
      cwd,
      env: { LC_ALL: "C", TZ: "UTC" },
      killSignal: "SIGKILL",
      ...(stopped && { signal: stopped }),
      ...(user && { uid: user.uid, gid: user.gid }),
    });
    const lastAct = lastActs?.add(async () => void child.kill("SIGKILL"));
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-4_000)));
    }
    const fail = (reason: string): void => {
      const why =
        said
          .trim()
          .split("\n")
          .findLast((line) => /error|fatal|panic/i.test(line)) ?? reason;
      reject(new OperatorError(`PostgreSQL's data could not be made (${program}: ${why.trim()})`));
    };
    child.once("error", (error) => fail(error.message));
    child.once("close", (code) => {
      lastAct?.[Symbol.dispose]();
      if (code === 0) resolve(said);
      else fail(`exit code ${code}`);
    });
    child.stdin.on("error", () => {}).end(input);
  });
}
