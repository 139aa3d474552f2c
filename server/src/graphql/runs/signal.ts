/** `signalRun`. */
import { signalRun } from "../../runs/signal-run.ts";
import { idOf } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { callerOf } from "../context/context.ts";
import { keyOf } from "../context/idempotency-key.ts";
import { LIMITS } from "../../lib/limits.ts";

export function addSignal(builder: Builder): void {
  const input = builder.inputType("SignalRunInput", {
    description: "Input of `signalRun`.",
    fields: (t) => ({
      runId: t.id({ description: "The run's id." }),
      name: t.string({ description: "The type of event that the run listens to." }),
      data: t.field({
        type: "JSON",
        required: false,
        description: "The data of the event, as an object. Default: an empty object.",
      }),
      idempotencyKey: t.string({
        required: false,
        description: `A key that makes the request safe to repeat, of at most ${LIMITS.idempotencyKeyCharacters} characters. It can also be sent as the \`Idempotency-Key\` header. A request to the same run with the same key and the same arguments sends nothing more; with other arguments, it is CONFLICT.`,
      }),
    }),
  });
  builder.mutationField("signalRun", (t) =>
    t.field({
      scope: "runs:start",
      narrowedKeys: true,
      type: "Run",
      description:
        "Sends a signal to an open run: an event for this run alone, with the source `autograph/signal`. A step that listens to events of this type takes it, now or later. " +
        "CONFLICT if the run has ended, or if too many signals wait in it.",
      args: { input: t.arg({ type: input, description: "Input of `signalRun`." }) },
      resolve: (_, { input: { runId, name, data, idempotencyKey } }, context) =>
        signalRun(context.runs, callerOf(context), {
          runId: idOf("run", runId),
          name,
          data: data ?? {},
          idempotencyKey: keyOf(context, idempotencyKey),
        }),
    }),
  );
}
