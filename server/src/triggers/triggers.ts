/** The room's handle, the first parameter of each of its operations. */
import type { Agents } from "../agents/agents.ts";
import { createEvents, type Events } from "../events/events.ts";
import { LIMITS } from "../lib/limits.ts";
import { Slots } from "../fairness/slots.ts";
import { checkTakes } from "../runs/prepare-run.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { createEventReactions } from "./matching/event-reactions.ts";
import type { FailedRuns } from "./failures/failed-run-part.ts";
import type { Matching } from "./matching/matching.ts";
import type { TriggerMemory } from "./memory.ts";
import { createRefusedCalls, type RefusedCalls } from "./webhooks/refused-calls.ts";

export type Triggers = TriggerMemory &
  Matching & {
    agents: Agents;
    secrets: Secrets;
    /** How clients reach the server; without a slash at the end. */
    url: string;
    refusedCalls: RefusedCalls;
    failedRuns: FailedRuns;
  };

type TriggersOptions = Pick<Triggers, "database" | "clock" | "log" | "agents" | "runs" | "secrets" | "url"> & {
  memory: TriggerMemory;
  /** If left out, the server sends no mail. */
  failedRuns?: FailedRuns;
};

/** From then on triggers react to events. */
export function createTriggers({
  memory,
  failedRuns = { isOn: false, look: () => {} },
  ...base
}: TriggersOptions): Triggers {
  const { runs, clock } = base;
  const { rounds } = runs.executions;
  const events: Events = createEvents({
    ...base,
    notices: memory.notices,
    outbox: memory.outbox,
    rounds,
    intake: { check: () => checkTakes("events", runs), isDraining: () => runs.executions.draining },
    reactions: () => reactions,
  });
  const triggers: Triggers = {
    ...memory,
    ...base,
    failedRuns,
    events,
    refusedCalls: createRefusedCalls(clock),
    largeInputs: new Slots(LIMITS.largeInputs, LIMITS.largeInputsOwn / LIMITS.largeInputs),
    slots: new Slots(LIMITS.triggersFiring, LIMITS.triggersFiringOwn / LIMITS.triggersFiring),
  };
  const reactions = createEventReactions(triggers);
  return triggers;
}
