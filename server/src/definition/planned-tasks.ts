/** The tasks of a program as a list, to draw a run before its steps exist. */
import { blocksOf, type Block, type Program } from "./program.ts";

/** `path`: JSON pointer into the definition; `parentPath`: of the task that encloses it, `/use/functions` for a function. */
export type PlannedTask = { path: string; parentPath: string | null; name: string; kind: string };

/** Under `do` in the order in which they are written, each before those inside it; then those of functions, once each. */
export function plannedTasks(program: Program): PlannedTask[] {
  const found: PlannedTask[] = [];
  const add = ({ tasks }: Block, parentPath: string | null): void => {
    for (const { reference: path, name, body } of tasks) {
      found.push({ path, parentPath, name, kind: body.is });
      if (body.is !== "function") for (const block of blocksOf(body)) add(block, path);
    }
  };
  add(program.block, null);
  for (const block of program.functions.values()) add(block, "/use/functions");
  return found;
}
