/** The cost of processes, read from Linux's /proc: CPU of whole process trees and their memory. */
import { execFileSync } from "node:child_process";
import fs from "node:fs";

/** CPU time since their beginning in ms, by what the process is; children that have ended are their parents'. */
export type Cpu = { node: number; postgres: number };

/** Proportional set size in MB: what processes share counts once in all. */
export type Memory = { node: number; postgres: number };

let ticksPerSecond: number | undefined;
const tickMs = (): number =>
  1000 / (ticksPerSecond ??= Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" })));

type Stat = { pid: number; parent: number; isPostgres: boolean; cpuMs: number };

/** The fields of proc(5) behind the command's name, which may hold spaces and brackets. */
function readStat(pid: number): Stat | undefined {
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    const name = text.slice(text.indexOf("(") + 1, text.lastIndexOf(")"));
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15).map(Number);
    const cpuMs = (user! + system! + childrenUser! + childrenSystem!) * tickMs();
    return { pid, parent: Number(fields[1]), isPostgres: name === "postgres", cpuMs };
  } catch {
    return undefined;
  }
}

/** The processes of `roots` and all below them. */
function treeOf(roots: readonly number[]): Stat[] {
  const all = fs.readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (readStat(Number(name)) ?? []) : []));
  const below = Map.groupBy(all, ({ parent }) => parent);
  const found = new Map<number, Stat>();
  const visit = (stat: Stat): void => {
    if (found.has(stat.pid)) return;
    found.set(stat.pid, stat);
    below.get(stat.pid)?.forEach(visit);
  };
  for (const stat of all) if (roots.includes(stat.pid)) visit(stat);
  return [...found.values()];
}

export function cpuOf(roots: readonly number[]): Cpu {
  const cpu: Cpu = { node: 0, postgres: 0 };
  for (const { isPostgres, cpuMs } of treeOf(roots)) cpu[isPostgres ? "postgres" : "node"] += cpuMs;
  return cpu;
}

export function memoryOf(roots: readonly number[]): Memory {
  const memory: Memory = { node: 0, postgres: 0 };
  for (const { pid, isPostgres } of treeOf(roots)) memory[isPostgres ? "postgres" : "node"] += pssOf(pid);
  return memory;
}

/** The most that one process has ever had in memory, MB. */
export function peakOf(pid: number): number {
  const text = fs.readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(text)![1]) / 1024;
}

/** None if it has ended meanwhile. */
function pssOf(pid: number): number {
  try {
    const text = fs.readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    return Number(/^Pss:\s+(\d+) kB$/m.exec(text)![1]) / 1024;
  } catch {
    return 0;
  }
}

/** The same of all of them together, exactly: the clock of `cpuOf` ticks every 10 ms. What has ended is not in it. */
export function nanosecondsOf(roots: readonly number[]): number {
  let sum = 0;
  for (const { pid } of treeOf(roots)) {
    for (const thread of namesIn(`/proc/${pid}/task`)) sum += runningTime(`/proc/${pid}/task/${thread}/schedstat`);
  }
  return sum;
}

function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}

function runningTime(file: string): number {
  try {
    return Number(fs.readFileSync(file, "utf8").split(" ", 1)[0]);
  } catch {
    return 0;
  }
}
