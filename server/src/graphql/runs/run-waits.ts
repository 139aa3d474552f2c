/** The things that a run waits for. */
import { isFinal } from "../../execution/run/states.ts";
import { LIMITS } from "../../lib/limits.ts";
import { sizeOf } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";

const WAITS = 20;

export function addRunWaits(builder: Builder): void {
  builder.objectType("RunWait", {
    description:
      "Something that a run waits for: a time, an approval or events. A step that waits for the run that it started has none of them.",
    extensions: { isPart: true },
    fields: (t) => ({
      stepNumber: t.exposeInt("stepNumber", { scope: "inherited", description: "Number of the step that is waiting." }),
      until: t.expose("until", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When the wait ends or the approval expires. Null if there is no set time.",
      }),
      approval: t.field({
        scope: "inherited",
        type: "Approval",
        nullable: true,
        description: "The approval that has to be decided.",
        resolve: ({ approvalId }, _, { loaders }) => approvalId && loaders.approval(approvalId),
      }),
      event: t.string({
        scope: "inherited",
        nullable: true,
        description:
          "The type of event that the step listens to; if it listens to several, their types with commas between them.",
        resolve: ({ events }) => (events.length > 0 ? events.join(", ") : null),
      }),
    }),
  });
  builder.objectField("Run", "waitingFor", (t) =>
    t.field({
      scope: "runs:read",
      type: ["RunWait"],
      extensions: { cost: { most: WAITS, argument: "first" } },
      description: "What the run waits for, in the order of its steps. Empty if it waits for nothing or has ended.",
      args: {
        first: t.arg.int({
          required: false,
          defaultValue: WAITS,
          description: `Return at most this many, from 1 to ${LIMITS.waitsListed}.`,
        }),
      },
      resolve: ({ id, status }, { first }, { loaders }) => {
        const most = sizeOf(first ?? WAITS, LIMITS.waitsListed);
        return isFinal(status) ? [] : loaders.waits({ runId: id, most });
      },
    }),
  );
}
