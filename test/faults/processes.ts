/** Other processes as the kernel sees them. Linux only, as the faults are. */
import fs from "node:fs";

/** The fields of `/proc/<pid>/stat` behind the name (proc_pid_stat(5)), from the third one. */
function statOf(pid: number): string[] | undefined {
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
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

/** What these processes have computed so far, ms. */
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
