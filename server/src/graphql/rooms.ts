/** The handles of the rooms that resolvers call. */
import type { Agents } from "../agents/agents.ts";
import type { Auth } from "../auth/auth.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Members } from "../members/members.ts";
import type { Rates } from "../rates/rates.ts";
import type { Runs } from "../runs/runs.ts";
import type { Secrets } from "../secrets/secrets.ts";

export type Handles = {
  auth: Auth;
  members: Members;
  agents: Agents;
  runs: Runs;
  rates: Rates;
  secrets: Secrets;
  clock: Clock;
  log: Log;
};
