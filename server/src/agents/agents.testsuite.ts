/** An organization with a project, agents on a real database, and definitions to publish. */
import type { TestClock } from "../../../test/clock.ts";
import type { Auth } from "../auth/handle/auth.ts";
import { makeOwner, quiet } from "../auth/handle/auth.testsuite.ts";
import type { Acting } from "../auth/caller.ts";
import type { Project } from "../projects/project.ts";
import { createProject } from "../projects/projects.ts";
import { compileWorkflow } from "../definition/program.ts";
import { createAgents, type Agents, type AgentsOptions } from "./agents.ts";

/** As in a server process. `jq` accepts every expression here: the language's own tests check that. */
export const openAgents = (auth: Auth, options: Partial<AgentsOptions> = {}): Agents =>
  createAgents({
    database: auth.database,
    clock: auth.clock,
    log: quiet,
    check: async () => undefined,
    compile: compileWorkflow,
    ...options,
  });

export type World = { caller: Acting; project: Project };

export async function makeWorld(auth: Auth & { clock: TestClock }, handle = "shop"): Promise<World> {
  const { caller } = await makeOwner(auth);
  return { caller, project: await createProject(auth, caller, { handle, name: "Shop" }) };
}

export type Document = { namespace?: string; name?: string; version?: string; title?: string; value?: number };

export const definitionOf = ({
  namespace = "shop",
  name = "intake",
  version = "1.0.0",
  title,
  value = 1,
}: Document = {}): string =>
  `document:
  dsl: "1.0.3"
  namespace: ${namespace}
  name: ${name}
  version: "${version}"
${title === undefined ? "" : `  title: ${JSON.stringify(title)}\n`}do:
  - first:
      set:
        n: ${value}
`;
