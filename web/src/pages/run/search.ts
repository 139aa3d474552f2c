/** The address of a run. */

/** How often what lasts is told again. */
export const TICK_MS = 250;

export const PARTS = ["conversation", "output", "input", "error", "attempts"] as const;

/** The number of a step. */
export type Part = (typeof PARTS)[number];

export type RunSearch = { step?: number; part?: Part; show?: "failed" | "slow" };

export type Change = { [Key in keyof RunSearch]: RunSearch[Key] | undefined };

/** Without what is to go. */
export const definedIn = (search: Change): RunSearch =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined));
