/** When a cron schedule comes, before there is a trigger with it and once there is one. */
import { LIMITS } from "../../lib/limits.ts";
import { inTurns, type Steps } from "../../fairness/slices.ts";
import { previewingCron, previewingTrigger } from "../../triggers/kinds/cron/preview-cron.ts";
import type { Builder } from "../builder/builder.ts";
import { callerOf, type Context } from "../context/context.ts";

const COUNTED = { cost: { most: LIMITS.cronPreviewInstants, argument: "count" } };
/** Default preview length. */
const FEW = 5;
const COUNT = {
  required: false,
  defaultValue: FEW,
  description: `Return this many, from 1 to ${LIMITS.cronPreviewInstants}.`,
} as const;

/** Schedules that come once in decades take turns with what other organizations ask for. */
async function inTurn<Result>(context: Context, steps: Steps<Result>): Promise<Result> {
  const { organizationId } = callerOf(context);
  const turn = () => context.runs.executions.rounds.next(organizationId);
  // Where the thread is free it is taken at once: if each field waited first, all would find it free before any had begun.
  const first = turn();
  if (first) await first;
  return inTurns(steps, turn);
}

export function addCron(builder: Builder): void {
  builder.objectType("CronInstant", {
    description: "A time at which a cron schedule is due.",
    fields: (t) => ({
      at: t.expose("at", { scope: "inherited", type: "DateTime", description: "The time." }),
      localTime: t.exposeString("localTime", {
        scope: "inherited",
        description: "The same time in the schedule's time zone, with its offset: `2026-03-29T03:00:00+02:00`.",
      }),
      isShifted: t.exposeBoolean("isShifted", {
        scope: "inherited",
        description:
          "Whether a clock change moved it: the scheduled time does not exist on that day, so the schedule is due at the first instant after the gap.",
      }),
    }),
  });
  builder.queryField("cronPreview", (t) =>
    t.field({
      scope: "agents:read",
      narrowedKeys: false,
      type: ["CronInstant"],
      description: "The next times at which a cron schedule is due.",
      args: {
        schedule: t.arg.string({ description: "Five fields: minute, hour, day of month, month, day of week." }),
        timezone: t.arg.string({ description: "An IANA time zone, such as `Europe/Berlin`." }),
        from: t.arg({
          type: "DateTime",
          required: false,
          description: "Return times after this one, exclusive. Default: now.",
        }),
        count: t.arg.int(COUNT),
      },
      extensions: COUNTED,
      resolve: (_, { schedule, timezone, from, count }, context) =>
        inTurn(
          context,
          previewingCron({ schedule, timezone, from: from ?? new Date(context.clock.now()), count: count ?? FEW }),
        ),
    }),
  );
  builder.objectField("Trigger", "nextInstants", (t) =>
    t.field({
      scope: "agents:read",
      type: ["CronInstant"],
      description:
        "The next times at which the trigger's schedule is due, between the `startsAt` and `endsAt` of its policy. For a paused trigger, the times at which it would be due. Empty for a type without a schedule.",
      args: { count: t.arg.int(COUNT) },
      extensions: COUNTED,
      resolve: (trigger, { count }, context) =>
        inTurn(context, previewingTrigger(trigger, context.clock.now(), count ?? FEW)),
    }),
  );
}
