/** Sign-in and agents on a database, as app.ts joins them, for commands that make organizations, users and agents. */
import { randomBytes } from "node:crypto";
import { createAgents, type Agents } from "../../agents/agents.ts";
import { publishDemo } from "../../agents/publish-demo.ts";
import { createAuth, type Auth } from "../../auth/handle/auth.ts";
import type { Acting } from "../../auth/caller.ts";
import { openSecretKeys, secretKeys } from "../../auth/tokens/secret-key.ts";
import type { Config } from "../../config.ts";
import { createExpressions } from "../../expressions/expressions.ts";
import { createScripts } from "../../scripts/scripts.ts";
import { compileWorkflow } from "../../definition/program.ts";
import { findDataFolder } from "../../postgres/data-folder.ts";
import { checkDefined, checkDefinedIn } from "../../triggers/defined-triggers.ts";
import { publishTriggers, type Making } from "../../triggers/publish-triggers.ts";
import { createTokenSealer } from "../../triggers/webhooks/token.ts";
import { openBeside } from "./beside.ts";
import type { CommandLine } from "../line/command-line.ts";

export type Accounts = {
  auth: Auth;
  agents: Agents;
  /** The project `demo` with the examples as its agents, in the caller's organization. */
  publishDemo: (owner: Acting) => Promise<void>;
} & AsyncDisposable;

export async function openAccounts(line: CommandLine, config: Config): Promise<Accounts> {
  const { clock, log } = line;
  await using stack = new AsyncDisposableStack();
  const { database } = stack.use(await openBeside(line, config));
  const expressions = stack.use(createExpressions({ log }));
  const scripts = stack.use(createScripts({ log }));
  const agents = createAgents({
    database,
    clock,
    log,
    check: expressions.check,
    checkScript: scripts.check,
    compile: compileWorkflow,
    triggers: {
      check: checkDefined,
      checkIn: checkDefinedIn,
      publish: async (...all) => publishTriggers(await making(), ...all),
    },
  });
  /** The tokens of webhooks are sealed with the installation's key. A server that runs finds new triggers within 5 s. */
  const making = async (): Promise<Making> => {
    const { folder: dataFolder } = findDataFolder(config.dataFolder);
    const { derive } = await openSecretKeys(database, { configured: config.secretKey, dataFolder });
    return { clock, sealer: createTokenSealer(derive), changed: () => {}, dropped: () => {} };
  };
  const demo = (owner: Acting): Promise<void> => publishDemo(auth, agents, owner);
  // No tokens are made or read here, so this needs neither the installation's key nor the right to read it.
  const keys = secretKeys(randomBytes(32));
  const auth: Auth = stack.use(
    createAuth({ database, clock, log, secretKeys: keys, defaultPlan: config.defaultPlan, afterSetup: demo }),
  );
  const opened = stack.move();
  return { auth, agents, publishDemo: demo, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
