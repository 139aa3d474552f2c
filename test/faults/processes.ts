/** Other processes as the kernel sees them. Linux only, as the faults are. */
import fs from "node:fs";

function readOf(pid: number, name: string): string | undefined {
  try {
    return fs.readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return undefined;
  }
}

/** Its command line; empty when it has ended. */
export const titleOf = (pid: number): string => readOf(pid, "cmdline") ?? "";

/** The fields of `/proc/<pid>/stat` behind the name (proc_pid_stat(5)), from the third one. */
function statOf(pid: number): string[] | undefined {
  const text = readOf(pid, "stat");
  return text?.slice(text.lastIndexOf(")") + 2).split(" ");
}

const PARENT = 4 - 3;
const USER_TICKS = 14 - 3;
const SYSTEM_TICKS = 15 - 3;
/** sysconf(_SC_CLK_TCK) is 100 on every Linux that Node runs on. */
const TICK_MS = 10;

export const childrenOf = (parent: number): number[] =>
  fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && statOf(Number(name))?.[PARENT] === String(parent))
    .map(Number);

/** The processor time of these processes so far, ms. */
export const cpuMsOf = (pids: number[]): number =>
  pids.reduce((sum, pid) => {
    const stat = statOf(pid);
    return sum + (stat ? (Number(stat[USER_TICKS]) + Number(stat[SYSTEM_TICKS])) * TICK_MS : 0);
  }, 0);

/** `kill -9`; one that has ended meanwhile is none. */
export function killAll(pids: number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}
