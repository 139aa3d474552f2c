/** An organization with a project, agents on a real database, and definitions to publish. */
import type { TestClock } from "../../../test/clock.ts";
import type { Auth } from "../auth/handle/auth.ts";
import { makeOwner, openAuth, quiet, startDatabases } from "../auth/handle/auth.testsuite.ts";
import type { Acting } from "../auth/caller.ts";
import type { Project } from "../projects/project.ts";
import { createProject } from "../projects/projects.ts";
import { compileWorkflow } from "../definition/program.ts";
import type { Agent } from "./agent.ts";
import { createAgents, type Agents, type AgentsOptions } from "./agents.ts";
import { publishAgent } from "./publish-agent.ts";

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

export type Publish = (world: World, document?: Document) => Promise<Agent>;

/** Agents on a database of their own. */
export async function startAgents() {
  const stack = new AsyncDisposableStack();
  const databases = stack.use(await startDatabases());
  const database = stack.use(await databases.open());
  const auth = stack.use(openAuth(database));
  const agents = openAgents(auth);
  const publish: Publish = ({ caller, project }, document) =>
    publishAgent(agents, caller, { projectId: project.id, definition: definitionOf(document) });
  return { database, auth, agents, publish, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
