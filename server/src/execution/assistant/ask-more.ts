/** Asks a person whether an assistant may go on beyond a limit, where the author wants that. */
import type { LimitName } from "../../definition/tasks/assistant.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { askPerson, type Decision } from "../ask-person.ts";
import type { OwnStep } from "../steps.ts";

type Asking = {
  /** The task's. */
  name: string;
  limit: LimitName;
  /** Its value now, and as the author wrote it: the same again is proposed. */
  value: number;
  written: number;
  /** The least that lets it go on, and the most that there may be more. */
  needed: number;
  room: number;
  currency: string | null;
  context: JsonObject;
  /** The key of its step names the limit, so no decision counts for another one. */
  key: string;
  /** How many questions to the model came before. */
  after: number;
};

/** `amount` to add to the limit, or why not. `decidedAt`, `waitedMs`: of the person. */
export type More = { decidedAt: number; waitedMs: number } & ({ amount: number } | { refusal: string });

const UNITS: Record<Exclude<LimitName, "cost">, { one: string; many: string }> = {
  iterations: { one: "question to the model", many: "questions to the model" },
  toolCalls: { one: "tool call", many: "tool calls" },
  tokens: { one: "token", many: "tokens" },
  seconds: { one: "second", many: "seconds" },
};

function unitOf({ limit, currency }: Asking, isOne: boolean): string {
  if (limit === "cost") return currency ?? "of its currency";
  return UNITS[limit][isOne ? "one" : "many"];
}

/** The question is a step. */
export async function askMore(own: OwnStep, asking: Asking): Promise<More> {
  const { name, limit, value, context, key, after } = asking;
  const outcome = await own({ name: "limit", kind: "approval", key }, (inner) => {
    inner.step.state.after = after;
    return askPerson(inner, () => ({
      question: `May ${name} go on beyond its limit of ${value} ${unitOf(asking, value === 1)}?`,
      context,
      form: { type: "object", properties: { [limit]: fieldOf(asking) }, required: [limit] },
    }));
  });
  if (outcome.error) throw outcome.error;
  const { approved, comment, answer } = outcome.output as unknown as Decision;
  const { startedAt, finishedAt } = outcome.step;
  const when = { decidedAt: finishedAt!, waitedMs: finishedAt! - startedAt };
  if (!approved) return { ...when, refusal: `a person refused more${comment === null ? "" : `: ${comment}`}` };
  // The form has the field, so an answer has it.
  return { ...when, amount: Number((answer as JsonObject)[limit]) };
}

function fieldOf(asking: Asking): JsonObject {
  const { limit, written, needed, room } = asking;
  const title = `More ${unitOf(asking, false)}`;
  if (limit === "cost") return { type: "number", title, exclusiveMinimum: 0, default: written };
  const proposed = Math.min(room, Math.max(written, needed));
  return { type: "integer", title, minimum: needed, maximum: room, default: proposed };
}
