/** PostgreSQL's folder: made by initdb, checked before it is started. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { OperatorError } from "../lib/errors.ts";
import type { Binaries } from "./binaries.ts";
import type { DataFolder } from "./data-folder.ts";
import type { SystemUser } from "./system-user.ts";

/** The major version of the package's PostgreSQL, as in a cluster's PG_VERSION. */
const MAJOR = "18";
const DRAFT = "postgres.draft-";
/** Owns the cluster; the program signs in as `autograph`, which may do everything in its database and nothing to the server. */
const SUPERUSER = "postgres";
const ROLES = `create role autograph login; alter database postgres owner to autograph;\n`;

/** initdb beside and renamed, so that one that was cut off is never taken for whole. To be called under the instance lock. */
export async function prepareCluster(data: DataFolder, binaries: Binaries): Promise<void> {
  removeDrafts(data.folder);
  if (fs.existsSync(data.cluster)) return checkCluster(data.cluster);
  const draft = path.join(data.folder, `${DRAFT}${randomBytes(4).toString("hex")}`);
  fs.mkdirSync(draft, { mode: 0o700 });
  if (data.user) fs.chownSync(draft, data.user.uid, data.user.gid);
  const owned = ["-D", draft, "-U", SUPERUSER, "-A", "trust", "--no-instructions"];
  const locale = ["-E", "UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  try {
    await run(binaries.initdb, [...owned, ...locale], draft, data.user);
    await run(
      binaries.postgres,
      ["--single", "-D", draft, "-c", "log_min_messages=fatal", "postgres"],
      draft,
      data.user,
      ROLES,
    );
    fs.renameSync(draft, data.cluster);
  } catch (error) {
    fs.rmSync(draft, { recursive: true, force: true });
    throw error;
  }
}

/** What a killed start left; its initdb may still be writing for a moment. */
function removeDrafts(folder: string): void {
  for (const name of fs.readdirSync(folder)) {
    if (name.startsWith(DRAFT))
      fs.rmSync(path.join(folder, name), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

function checkCluster(cluster: string): void {
  const file = path.join(cluster, "PG_VERSION");
  const version = fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim() : "";
  if (version === MAJOR && fs.existsSync(path.join(cluster, "global", "pg_control"))) return;
  if (/^\d+$/.test(version) && version !== MAJOR) {
    throw new OperatorError(
      `The data in ${cluster} is PostgreSQL ${version}'s and this Autograph brings ${MAJOR}: start the version that made it, or move the folder away to begin anew`,
    );
  }
  throw new OperatorError(
    `The data in ${cluster} is damaged or not PostgreSQL's: restore a backup, or move the folder away to begin anew`,
  );
}

/** Resolves when the program ended well; otherwise one line with what it said last. */
function run(program: string, args: string[], cwd: string, user: SystemUser | undefined, input = ""): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { LC_ALL: "C", TZ: "UTC" },
      ...(user && { uid: user.uid, gid: user.gid }),
    });
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
      reject(new OperatorError(`PostgreSQL's data could not be made (${path.basename(program)}: ${why.trim()})`));
    };
    child.once("error", (error) => fail(error.message));
    child.once("close", (code) => (code === 0 ? resolve() : fail(`exit code ${code}`)));
    child.stdin.on("error", () => {}).end(input);
  });
}
