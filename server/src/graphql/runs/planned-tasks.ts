/** The tasks of a version, and the task of a step. */
import { plannedTasks } from "../../definition/planned-tasks.ts";
import { taskPathOf } from "../../execution/journal/program-path.ts";
import { requireFound } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";

/** A task and its fields. */
const TASK_VALUES = 5;

export function addPlannedTasks(builder: Builder): void {
  builder.objectType("PlannedTask", {
    description: "A task of a definition.",
    extensions: { isPart: true },
    fields: (t) => ({
      path: t.exposeString("path", {
        scope: "inherited",
        description: "JSON pointer into the definition, like `/do/1/loop/do/0/greet`; `Step.taskPath` is the same.",
      }),
      parentPath: t.exposeString("parentPath", {
        scope: "inherited",
        nullable: true,
        description: "The path of the task that encloses it. Null at the top level, `/use/functions` for a function.",
      }),
      name: t.exposeString("name", { scope: "inherited", description: "Its name in the definition." }),
      kind: t.exposeString("kind", {
        scope: "inherited",
        description: "The kind of task, such as `set`, `http` or `approval`. New kinds may be added.",
      }),
    }),
  });
  builder.objectField("AgentVersion", "tasks", (t) =>
    t.field({
      scope: "agents:read",
      type: ["PlannedTask"],
      description:
        "The definition's tasks in its order, each before those inside it, so that a run can be drawn before its steps exist.",
      resolve: async ({ agentId, version }, _, { loaders, size }) => {
        const tasks = plannedTasks((await loaders.compiled({ agentId, version })).program);
        size.addValues(tasks.length * TASK_VALUES);
        return tasks;
      },
    }),
  );
  builder.objectField("Step", "taskPath", (t) =>
    t.string({
      scope: "inherited",
      description:
        "JSON pointer to its task in the definition of the run's version: the `path` of one of `AgentVersion.tasks`. Steps of a loop share it.",
      resolve: async ({ runId, key }, _, { loaders }) => {
        const version = requireFound("run", (await loaders.versionOfRun(runId)) ?? undefined);
        return taskPathOf((await loaders.compiled(version)).program, key);
      },
    }),
  );
}
