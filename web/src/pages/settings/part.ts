import type { Caller } from "./use-caller.ts";

/** The parts below /settings, by the names that addresses have. */
export const PARTS = {
  keys: "API keys",
  members: "Members",
  usage: "Usage",
  secrets: "Secrets",
  llm: "LLM connection",
  sessions: "Sessions",
} as const;
export type Part = keyof typeof PARTS;
export const isPart = (text: string): text is Part => Object.hasOwn(PARTS, text);

/** The counts of the usage, beside requests. */
export const COUNTED = ["runs", "steps", "modelTokens"] as const;

/** `make`: the form for a new one stands there, or for another value of `secret`. */
export type SettingsSearch = {
  after?: string;
  make?: true;
  secret?: string;
  show?: (typeof COUNTED)[number];
  project?: string;
};
export type PartProps = { caller: Caller; search: SettingsSearch };
