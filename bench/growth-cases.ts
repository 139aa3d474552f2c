/** The largest inputs of each operation that takes something that grows (growth.ts). */
import { listCases } from "./growth-lists.ts";
import { runCases } from "./growth-runs.ts";
import { textCases } from "./growth-texts.ts";
import { waitCases } from "./growth-waits.ts";
import type { GrowthCase } from "./growth.ts";

export const growthCases: GrowthCase[] = [...runCases, ...textCases, ...waitCases, ...listCases];
