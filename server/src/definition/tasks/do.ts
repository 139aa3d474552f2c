import { ref } from "../schema/schema-words.ts";
import type { InnerList } from "./written.ts";
import type { Kind } from "./kind.ts";

type DoTask = { do: InnerList };

export const doTask = {
  properties: { do: ref("tasks") },
  required: ["do"],
  waitsFor: "nothing",
  blocks: { do: { at: ["do"], way: "once" } },
  compile: (_task: DoTask): object => ({}),
} satisfies Kind;
