/** The handles of the rooms that resolvers call. */
import type { Agents } from "../../agents/agents.ts";
import type { Auth } from "../../auth/handle/auth.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Members } from "../../members/members.ts";
import type { Models } from "../../models/models.ts";
import type { Rates } from "../../rates/rates.ts";
import type { Runs } from "../../runs/handle/runs.ts";
import type { Events } from "../../events/events.ts";
import type { Triggers } from "../../triggers/triggers.ts";
import type { RunDrafts } from "../../run-drafts/run-draft-store.ts";
import type { Secrets } from "../../secrets/secrets.ts";

export type Handles = {
  runDrafts: RunDrafts;
  auth: Auth;
  members: Members;
  agents: Agents;
  runs: Runs;
  events: Events;
  triggers: Triggers;
  rates: Rates;
  secrets: Secrets;
  models: Models;
  clock: Clock;
  log: Log;
};
