import type { Caller } from "./use-caller.ts";

/** The parts below /settings, by the names that addresses have. */
export const PARTS = {
  keys: "API keys",
  members: "Members",
  usage: "Usage",
  secrets: "Secrets",
  models: "Models",
  sessions: "Sessions",
} as const;
export type Part = keyof typeof PARTS;
/** Parts that had an address of their own: it leads to where they are now. */
export const FORMER: Readonly<Record<string, Part>> = { llm: "models" };
export const isPart = (text: string): text is Part => Object.hasOwn(PARTS, text);

/** The counts of the usage, beside requests. */
export const COUNTED = ["runs", "steps", "modelTokens"] as const;

/** `make`: the form for a new one stands there, for another value of `secret`, or for changes of `model`. */
export type SettingsSearch = {
  after?: string;
  make?: true;
  secret?: string;
  model?: string;
  /** The project that gets a new model. */
  into?: string;
  show?: (typeof COUNTED)[number];
  project?: string;
};
export type PartProps = { caller: Caller; search: SettingsSearch };
