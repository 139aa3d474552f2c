/** The lines of the waterfall: the steps as a tree, and after them the tasks that no step has reached. */
import type { RunPageQuery, StepRowFragment } from "../../api/documents.ts";
import { tookOf } from "./spans.ts";
import { kindOf } from "./step-kinds.ts";

export type Task = NonNullable<RunPageQuery["run"]>["agentVersion"]["tasks"][number];
type StepStatus = StepRowFragment["status"];

/** The words of a folded line about its inside: `items` are the first and the last of a loop's. */
export type Inside = {
  items?: readonly [first: number, last: number];
  counts: readonly (readonly [StepStatus, number])[];
};

export type StepLine = {
  kind: "step";
  step: StepRowFragment;
  depth: number;
  /** Its place, from 0, among so many beside it. */
  at: number;
  of: number;
  hasInside: boolean;
  /** The rows of a folded one. */
  inside?: Inside;
};
export type TaskLine = { kind: "task"; task: Task; at: number; of: number };
export type Line = StepLine | TaskLine;

export type Shown = { folded: ReadonlySet<number>; status: "all" | "failed" | "slow" };

const SLOW_SHARE = 0.1;
/** More than this inside of one step are folded at first. */
const MANY = 50;

export const nameOf = ({ callName, name }: StepRowFragment): string => callName ?? name;

type Tree = ReadonlyMap<number, readonly StepRowFragment[]>;

/** By the number of the step that encloses them, 0 at the top. Items that run at the same time are put beside each other. */
export function treeOf(steps: readonly StepRowFragment[]): Tree {
  const tree = Map.groupBy(steps, ({ parentNumber }) => parentNumber ?? 0);
  for (const [number, inside] of tree) if (inside[0]!.item !== null) tree.set(number, inside.toSorted(byItem));
  return tree;
}

const byItem = (a: StepRowFragment, b: StepRowFragment): number => (a.item ?? 0) - (b.item ?? 0) || a.number - b.number;

/** The steps that are folded until somebody opens them: those with many inside, but for those around the chosen one. */
export function foldedAtFirst(steps: readonly StepRowFragment[], chosen: number | undefined): ReadonlySet<number> {
  const folded = new Set([...treeOf(steps)].filter(([, { length }]) => length > MANY).map(([number]) => number));
  for (const number of around(steps, chosen)) folded.delete(number);
  return folded;
}

/** The steps that enclose one, from the inside. */
export function around(steps: readonly StepRowFragment[], number: number | undefined): number[] {
  const parent = steps.find((step) => step.number === number)?.parentNumber ?? undefined;
  return parent === undefined ? [] : [parent, ...around(steps, parent)];
}

/** `tasks`: those that no step has reached, after the steps. */
export function linesOf(
  steps: readonly StepRowFragment[],
  { folded, status }: Shown,
  tasks: readonly Task[] = [],
): Line[] {
  const tree = treeOf(steps);
  if (status !== "all") return flat(steps, tree, status);
  const lines: Line[] = [];
  const top = (tree.get(0)?.length ?? 0) + tasks.length;
  const visit = (parent: number, depth: number): void => {
    const beside = tree.get(parent) ?? [];
    for (const [at, step] of beside.entries()) {
      const within = tree.get(step.number);
      const isFolded = within !== undefined && folded.has(step.number);
      lines.push({
        kind: "step",
        step,
        depth,
        at,
        of: depth === 0 ? top : beside.length,
        hasInside: within !== undefined,
        ...(isFolded && { inside: insideOf(within) }),
      });
      if (within && !isFolded) visit(step.number, depth + 1);
    }
  };
  visit(0, 0);
  const ahead = tasks.map((task, index): TaskLine => ({ kind: "task", task, at: top - tasks.length + index, of: top }));
  return [...lines, ...ahead];
}

/** An item is as its worst step. */
const WORST_FIRST: readonly StepStatus[] = [
  "failed",
  "cancelled",
  "running",
  "paused",
  "pending",
  "completed",
  "skipped",
];
const AS_COUNTED: readonly StepStatus[] = [
  "completed",
  "skipped",
  "running",
  "paused",
  "pending",
  "cancelled",
  "failed",
];

function insideOf(steps: readonly StepRowFragment[]): Inside {
  const first = steps[0]!.item;
  const groups = first === null ? steps.map((step) => [step]) : [...Map.groupBy(steps, ({ item }) => item).values()];
  const statuses = groups.map((group) => WORST_FIRST.find((status) => group.some((step) => step.status === status)));
  const counted = AS_COUNTED.map((status) => [status, statuses.filter((one) => one === status).length] as const);
  return {
    ...(first !== null && { items: [first, steps.at(-1)!.item ?? first] }),
    counts: counted.filter(([, count]) => count > 0),
  };
}

/** The duration of an open one, so far. */
const lengthOf = (step: StepRowFragment): number => tookOf(step) ?? step.duration ?? 0;

/** Failed or slow ones, by themselves: what encloses them says nothing more, and what waits is not slow. */
function flat(steps: readonly StepRowFragment[], tree: Tree, status: "failed" | "slow"): StepLine[] {
  const isFailed = (step: StepRowFragment): boolean => step.status === "failed";
  const isLeast = (step: StepRowFragment): boolean => !tree.get(step.number)?.some(isFailed);
  const busy = steps.filter((step) => !tree.has(step.number) && !kindOf(step).isWait);
  const longest = Math.max(...busy.map(lengthOf));
  const shown =
    status === "failed"
      ? steps.filter((step) => isFailed(step) && isLeast(step))
      : busy.filter((step) => lengthOf(step) >= longest * SLOW_SHARE);
  return shown.map((step, at) => ({ kind: "step", step, depth: 0, at, of: shown.length, hasInside: false }));
}

/** Tasks at the top that no step has reached. */
export function tasksAhead(steps: readonly StepRowFragment[], tasks: readonly Task[]): Task[] {
  const reached = new Set(steps.map(({ taskPath }) => taskPath));
  const top = tasks.filter(({ parentPath }) => parentPath === null);
  const last = top.findLastIndex(({ path }) => reached.has(path));
  return top.slice(last + 1);
}
