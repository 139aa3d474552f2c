import type { Template } from "../../expressions/template.ts";
import { compileDuration } from "./program-parts.ts";
import { ref } from "../schema/schema-words.ts";
import type { Duration } from "./written.ts";
import type { Kind } from "./kind.ts";

type WaitTask = { wait: Duration };

export const waitTask = {
  properties: { wait: ref("duration") },
  required: ["wait"],
  waitsFor: "time",
  blocks: {},
  compile: ({ wait }: WaitTask): { duration: Template } => ({ duration: compileDuration(wait) }),
} satisfies Kind;
