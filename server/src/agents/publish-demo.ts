import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Auth } from "../auth/handle/auth.ts";
import type { Acting } from "../auth/caller.ts";
import { createProject } from "../projects/projects.ts";
import { messageOf } from "../lib/errors.ts";
import type { Agents } from "./agents.ts";
import { publishAgent } from "./publish-agent.ts";

/** A definition's text with the name of its file, for messages. */
type DemoDefinition = { name: string; text: string };

/** The project `demo` with the examples as its agents, for a new installation. */
export async function publishDemo(auth: Auth, agents: Agents, caller: Acting, demo = examples()): Promise<void> {
  const { id: projectId } = await createProject(auth, caller, { handle: "demo", name: "Demo" });
  for (const { name, text } of demo) {
    await publishAgent(agents, caller, { projectId, definition: text }).catch((error: unknown) => {
      throw new Error(`${name}: ${messageOf(error)}`, { cause: error });
    });
  }
}

const EXAMPLES = path.join(import.meta.dirname, "../../../examples/agents");

const examples = (): DemoDefinition[] =>
  readdirSync(EXAMPLES).map((name) => ({ name, text: readFileSync(path.join(EXAMPLES, name), "utf8") }));
