/** Who or what did something. */
import { encodeId, type Id } from "./ids.ts";

export const ACTOR_KINDS = ["user", "key", "trigger", "run", "link", "system"] as const;
export type ActorKind = (typeof ACTOR_KINDS)[number];

/** As rows keep it: the UUID of a user, key, run, …; null for the system. */
export type Actor = { kind: ActorKind; id: string | null };

/** The kinds whose ids have a public form. */
export const ACTOR_IDS = { user: "user", key: "apiKey", trigger: "trigger", run: "run" } as const;

/** The TypeID; null for what has none. */
export const actorId = ({ kind, id }: Actor): string | null =>
  id !== null && Object.hasOwn(ACTOR_IDS, kind)
    ? encodeId(ACTOR_IDS[kind as keyof typeof ACTOR_IDS], id as Id<(typeof ACTOR_IDS)[keyof typeof ACTOR_IDS]>)
    : null;
