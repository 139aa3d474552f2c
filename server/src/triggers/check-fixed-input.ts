import { published } from "../agents/published.ts";
import { checkStartInput } from "../runs/prepare-run.ts";
import type { Within } from "../lib/reach.ts";
import { GIVEN_AT, kindOf } from "./kinds.ts";
import type { Trigger } from "./trigger.ts";
import type { Triggers } from "./triggers.ts";

/**
 * An input that the configuration has whole, as a schedule's, is checked as the agent's form would check it today. Throws BAD_USER_INPUT
 * with the fields. An agent without a published version has no form yet: its firings say what does not fit then.
 */
export async function checkFixedInput(
  { agents, clock }: Triggers,
  within: Within,
  { agentId, type, configuration }: Pick<Trigger, "agentId" | "type" | "configuration">,
): Promise<void> {
  const { schedule, inputOf, dropsUnknown } = kindOf(type);
  const version = schedule && (await published(agents, within, agentId));
  if (!version) return;
  checkStartInput(version, inputOf(configuration, undefined, clock.now()), {
    path: `${GIVEN_AT.keys}.input`,
    unknown: dropsUnknown ? "drop" : "refuse",
  });
}
