/** `emit`: publishes an event. Every attempt publishes the same one, so it is published once. */
import type { BodyOf } from "../../definition/program.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { isDateTime } from "../../lib/calendar.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { performEffect } from "../effect.ts";
import { evaluate } from "../evaluate.ts";
import type { EmittedEvent, EventDoor } from "../events/event-door.ts";
import { complete, type Frame, type RunTask } from "../frame.ts";

/** The output is the task's input. */
export const createRunEmit =
  (door: EventDoor): RunTask<BodyOf<"emit">> =>
  async (frame, body) => {
    const { execution, input, step, variables } = frame;
    await performEffect(frame, {
      prepare: async () => {
        const values = (await evaluate(execution, body.arguments, input, variables, step)) as JsonObject;
        return { source: sourceOf(frame), ...values };
      },
      async perform(request, { idempotencyKey }) {
        await door.emit(execution.journal.head, eventOf(request, idempotencyKey));
        return null;
      },
    });
    return complete(frame, input);
  };

/** Names the agent, as CloudEvents have it: a reference without a host. */
function sourceOf({ execution }: Frame): string {
  const { namespace, name } = execution.program.definition["document"] as { namespace: string; name: string };
  return `/${namespace}/${name}`;
}

function eventOf(request: JsonObject, key: string): EmittedEvent {
  const text = (name: string): string | undefined => {
    const value = request[name];
    if (value === undefined || typeof value === "string") return value;
    throw invalid(`its ${name} must be a text`);
  };
  const [id, source, type, subject, time] = ["id", "source", "type", "subject", "time"].map(text);
  const data: Json = request["data"] ?? {};
  if (!isObject(data)) throw invalid("its data must be an object: it becomes the input of runs");
  if (time !== undefined && !isDateTime(time))
    throw invalid("its time must be an RFC 3339 time with a zone, like 2026-11-21T08:30:00Z");
  return {
    id: id ?? key,
    source: source!,
    type: type!,
    ...(subject !== undefined && { subject }),
    ...(time !== undefined && { time: new Date(time.toUpperCase()) }),
    data,
  };
}

const invalid = (why: string): WorkflowError => WorkflowError.of("validation", `the event was not published: ${why}`);
