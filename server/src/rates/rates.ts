/** The room's handle: how often an organization may ask, and what it used. */
import type { Caller } from "../auth/caller.ts";
import { RateWindows, type Taken } from "../fairness/rate-window.ts";
import type { Clock } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import { createFreshCache } from "../lib/fresh-cache.ts";
import type { OrganizationId, UserId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Log } from "../lib/log/log.ts";
import type { Database } from "../storage/database.ts";
import type { Plan } from "../storage/schema.ts";
import { createBudgets, type Budgets } from "./budgets.ts";
import { createDatabaseWindows, type Windows } from "./database-windows.ts";
import { limitOf, modelTokensOf } from "./plans.ts";
import { createUsage, type Usage } from "./usage.ts";

/** Where a caller stands after a request that counted against a limit. */
export type Standing = {
  isRefused: boolean;
  /** The subject of a limit: the organization by its plan, or a user of the web UI, however many sessions they have. */
  policy: "plan" | "user";
  plan: Plan | undefined;
  limit: number;
  remaining: number;
  /** In how many seconds there is room for one request more than now; at least 1. */
  resetSeconds: number;
};

/** The answer to `rateLimit`: nulls without a limit, and no time while nothing counts. */
export type RateLimit = { plan: Plan; limit: number | null; remaining: number | null; resetAt: Date | null };

/** The caller of a request. */
export type Sender = Pick<Caller, "organizationId" | "credential" | "user"> | OwnCredential;
/** Its credential is what it asks for: a webhook. */
type OwnCredential = { organizationId: OrganizationId; credential?: never; user?: never };

export type Rates = {
  /**
   * Counts a request. Undefined: there is no limit. A promise only when the organization was not heard of for 5 s, or its
   * window is in a shared database.
   */
  count(sender: Sender): Standing | undefined | Promise<Standing | undefined>;
  /** Without counting. */
  look(organizationId: OrganizationId): Promise<RateLimit>;
  usage: Usage;
  budgets: Budgets;
} & AsyncDisposable;

type RatesOptions = { database: Database; clock: Clock; log: Log };

/** A plan that was set is in force after this, in every process. */
const PLAN_TTL_MS = 5_000;
const REMEMBERED = 10_000;

type Allowance = { plan: Plan; limit: number | null; modelTokensPerDay: number | null };

export function createRates(options: RatesOptions): Rates {
  const { database, clock } = options;
  const stack = new AsyncDisposableStack();
  const allowances = createFreshCache<OrganizationId, Allowance>({
    clock,
    ttlMs: PLAN_TTL_MS,
    most: REMEMBERED,
    load: (organizationId) => readAllowance(database, organizationId),
  });
  const windows: Windows = database.isEmbedded
    ? new RateWindows<OrganizationId>(clock)
    : stack.use(createDatabaseWindows(database, clock));
  const people = new RateWindows<UserId>(clock);
  const budgets = stack.use(createBudgets({ ...options, allowanceOf: (id) => allowances.get(id) }));
  const usage = stack.use(createUsage({ ...options, settled: budgets.settled }));

  const countIn = (
    organizationId: OrganizationId,
    { plan, limit }: Allowance,
  ): Standing | undefined | Promise<Standing> => {
    if (limit === null) {
      usage.request(organizationId, false);
      return undefined;
    }
    const judge = (taken: Taken): Standing => {
      usage.request(organizationId, !taken.isTaken);
      return standingOf("plan", plan, limit, taken);
    };
    const taken = windows.take(organizationId, limit);
    return taken instanceof Promise ? taken.then(judge) : judge(taken);
  };

  return {
    count: ({ organizationId, credential, user }) => {
      if (user && credential.kind === "user" && credential.client === "ui") {
        const limit = LIMITS.uiRequestsPerMinute;
        return standingOf("user", undefined, limit, people.take(user.id, limit));
      }
      const allowance = allowances.peek(organizationId);
      if (allowance) return countIn(organizationId, allowance);
      return allowances.get(organizationId).then((found) => found && countIn(organizationId, found));
    },
    look: async (organizationId) => {
      const { plan, limit } = (await allowances.get(organizationId))!;
      if (limit === null) return { plan, limit, remaining: null, resetAt: null };
      const { remaining, resetMs } = await windows.look(organizationId, limit);
      return { plan, limit, remaining, resetAt: resetMs === 0 ? null : new Date(clock.now() + resetMs) };
    },
    usage,
    budgets,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function standingOf(
  policy: Standing["policy"],
  plan: Plan | undefined,
  limit: number,
  { isTaken, remaining, resetMs }: Taken,
): Standing {
  return { isRefused: !isTaken, policy, plan, limit, remaining, resetSeconds: Math.max(1, Math.ceil(resetMs / 1_000)) };
}

/**
 * Counts a request. `counted` is told where its sender stands, unless they have no limit. Throws RATE_LIMITED. A promise only if
 * `rates.count` returns one.
 */
export function countRequest(
  rates: Pick<Rates, "count">,
  sender: Sender,
  counted?: (standing: Standing) => void,
): void | Promise<void> {
  const judge = (standing: Standing | undefined): void => {
    if (!standing) return;
    counted?.(standing);
    if (standing.isRefused) throw overRate(standing);
  };
  const standing = rates.count(sender);
  return standing instanceof Promise ? standing.then(judge) : judge(standing);
}

/** RATE_LIMITED, with when to try again. */
function overRate({ plan, limit, resetSeconds: retryAfter }: Standing): Refusal {
  const who = plan === undefined ? "a user of the web UI may send" : `the organization's plan (${plan}) allows`;
  return new Refusal("RATE_LIMITED", `${who} ${limit} requests in any 60 s: try again in ${retryAfter} s`, {
    retryAfter,
  });
}

async function readAllowance(database: Database, organizationId: OrganizationId): Promise<Allowance | undefined> {
  const [row] = await database.query(
    "select plan, requests_per_minute, model_tokens_per_day from organizations where id = $1",
    [organizationId],
    organizationId,
  );
  if (!row) return undefined;
  const plan: Plan = row["plan"];
  return {
    plan,
    limit: limitOf(plan, row["requests_per_minute"]),
    modelTokensPerDay: modelTokensOf(plan, row["model_tokens_per_day"]),
  };
}
