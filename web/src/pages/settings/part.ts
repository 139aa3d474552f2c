import type { Caller } from "./use-caller.ts";

/** `make`: the form for a new one stands there, or for another value of `secret`. */
export type SettingsSearch = {
  after?: string;
  make?: true;
  secret?: string;
  show?: "runs" | "steps" | "modelTokens";
  project?: string;
};
export type PartProps = { caller: Caller; search: SettingsSearch };
