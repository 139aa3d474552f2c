/** The rights that a request needs. */
import type { Scope } from "./scopes.ts";

/** A scope. Null: any signed-in caller. "public": no credential at all. */
export type Need = Scope | null | "public";

/** The needs of a whole operation or request. */
export type Needs = {
  /** Whether there must be a caller. */
  signIn: boolean;
  /** A part that concerns the whole organization, if there is one: refused to a narrowed API key. */
  whole: string | undefined;
  /** Each with a part that needs it, for the refusal's text. */
  scopes: ReadonlyMap<Scope, string>;
};
