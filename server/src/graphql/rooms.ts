/** The handles of the rooms that resolvers call. */
import type { Agents } from "../agents/agents.ts";
import type { Auth } from "../auth/auth.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Runs } from "../runs/runs.ts";

export type Handles = { auth: Auth; agents: Agents; runs: Runs; clock: Clock; log: Log };
