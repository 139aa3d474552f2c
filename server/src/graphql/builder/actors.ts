/** Who or what did something. Anyone who may see the thing may read the actor's name. */
import { actorId, type Actor, type ActorKind } from "../../lib/actor.ts";
import type { Context } from "../context/context.ts";
import type { ApiKeyId, RunId, TriggerId, UserId } from "../../lib/ids.ts";
import type { Builder } from "./builder.ts";
import type { Enums } from "./enums.ts";
import type { Loaders } from "../context/loaders.ts";

export function addActor(builder: Builder, enums: Enums): void {
  builder.objectType("Actor", {
    description: "Who or what did something.",
    fields: (t) => ({
      kind: t.expose("kind", { scope: "inherited", type: enums.ActorKind, description: "What the actor is." }),
      id: t.id({
        scope: "inherited",
        nullable: true,
        description:
          "The id of the user, API key, trigger or run. Null for a link and for the system, and for a run that a narrowed API key does not reach.",
        resolve: shownId,
      }),
      name: t.string({
        scope: "inherited",
        description:
          "The name of the user, API key or trigger, even after it was removed. For a run: the name of its agent.",
        resolve: (actor, _, { loaders }) => NAMES[actor.kind](actor, loaders),
      }),
    }),
  });
}

async function shownId(actor: Actor, _: unknown, { caller, loaders }: Context): Promise<string | null> {
  if (actor.kind === "run" && caller?.reach && !(await loaders.versionOfRun(actor.id as RunId))) return null;
  return actorId(actor);
}

type NameOf = (actor: Actor, loaders: Loaders) => string | Promise<string>;

const NAMES: Record<ActorKind, NameOf> = {
  user: ({ id }, loaders) => loaders.userName(id as UserId),
  key: ({ id }, loaders) => loaders.keyName(id as ApiKeyId),
  run: async ({ id }, loaders) => {
    const version = await loaders.versionOfRun(id as RunId);
    // The run's month was dropped, or a narrowed key does not reach it.
    return version ? (await loaders.agent(version.agentId)).name : "a run";
  },
  trigger: ({ id }, loaders) => loaders.triggerName(id as TriggerId),
  link: () => "a link",
  system: () => "Autograph",
};
