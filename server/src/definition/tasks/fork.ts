import { LIMITS } from "../../lib/limits.ts";
import { boolean, object, taskList } from "../schema/schema-words.ts";
import type { InnerList } from "./written.ts";
import type { Kind } from "./kind.ts";

/** Branches run at the same time; with `compete` the first to end wins, and the others are cancelled. */
type ForkTask = { fork: { branches: InnerList; compete?: boolean } };

export const forkTask = {
  properties: {
    fork: object(
      "fork",
      {
        branches: taskList({
          minItems: 2,
          maxItems: LIMITS.forkBranches,
          "x-say": `write 2 to ${LIMITS.forkBranches} branches, each as \`- name:\` with its task below`,
        }),
        compete: boolean,
      },
      ["branches"],
    ),
  },
  required: ["fork"],
  waitsFor: "nothing",
  blocks: { branches: { at: ["fork", "branches"], way: "branches" } },
  compile: ({ fork }: ForkTask): { compete: boolean } => ({ compete: fork.compete ?? false }),
} satisfies Kind;
