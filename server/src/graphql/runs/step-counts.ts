/** How many steps a run has, and how many are inside a step. */
import type { Builder } from "../builder/builder.ts";
import type { Enums } from "../builder/enums.ts";

/** Most lists of children have one or two statuses; further ones count as they are read. */
const STATUSES_COUNTED = 2;
/** A count and its fields. */
const COUNT_VALUES = 3;

export function addStepCounts(builder: Builder, enums: Enums): void {
  builder.objectType("StepCount", {
    description: "How many steps have a status.",
    extensions: { isPart: true },
    fields: (t) => ({
      status: t.expose("status", { scope: "inherited", type: enums.StepStatus, description: "The status." }),
      count: t.exposeInt("count", { scope: "inherited", description: "How many steps have it." }),
    }),
  });
  builder.objectField("Step", "childCounts", (t) =>
    t.field({
      scope: "inherited",
      type: ["StepCount"],
      extensions: { cost: { most: STATUSES_COUNTED } },
      description:
        "How many steps are directly inside this one, by status, so that loops and branches can be shown folded.",
      resolve: async ({ runId, number }, _, { loaders, size }) => {
        const counts = await loaders.childCounts({ runId, number });
        if (counts.length > STATUSES_COUNTED) size.addValues((counts.length - STATUSES_COUNTED) * COUNT_VALUES);
        return counts;
      },
    }),
  );
  builder.objectField("Run", "stepCount", (t) =>
    t.int({
      scope: "inherited",
      description: "How many steps the run has reached so far.",
      resolve: ({ id }, _, { loaders }) => loaders.stepCount(id),
    }),
  );
}
