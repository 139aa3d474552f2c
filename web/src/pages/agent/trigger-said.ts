/** What stands in a trigger's form, and the configuration and the policy that it makes. */
import type {
  MissedInstants,
  TriggerOverlap,
  TriggerPartFragment,
  TriggerType,
  WebhookAccept,
} from "../../api/documents.ts";
import { Refusal, type FieldProblem } from "../../api/refusal.ts";
import { inputFrom, valuesFrom, type FormField } from "../../forms/values.ts";
import { parseJson, type Json } from "../../lib/json.ts";

export type Said = {
  name: string;
  schedule: string;
  timezone: string;
  input: string;
  source: string;
  event: string;
  /** A filter on an event's data or a webhook's body. */
  filter: string;
  accept: WebhookAccept;
  overlap: TriggerOverlap;
  missed: MissedInstants;
  jitterSeconds: number;
  mapping: string;
};

const textOf = (value: unknown): string =>
  value === null || value === undefined ? "" : JSON.stringify(value, null, 2);

/** What a trigger says, else what a new one begins with. */
export const saidBy = (
  type: TriggerType,
  trigger: TriggerPartFragment | undefined,
  fields: readonly FormField[],
): Said => ({
  name: trigger?.name ?? "",
  schedule: trigger?.schedule ?? "0 8 * * 1-5",
  timezone: trigger?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  input: textOf(trigger ? trigger.input : inputFrom(fields, valuesFrom(fields))),
  source: trigger?.source ?? "",
  event: trigger?.event ?? "",
  filter: textOf(type === "webhook" ? trigger?.policy.filter : trigger?.filter),
  accept: trigger?.policy.accept ?? "json",
  overlap: trigger?.policy.overlap ?? (type === "cron" ? "skip" : "allow"),
  missed: trigger?.policy.missed ?? "latest",
  jitterSeconds: trigger?.policy.jitterSeconds ?? 0,
  mapping: trigger?.policy.mapping ?? "",
});

/** What the parts of a trigger's form for one type are given. */
export type PartProps = {
  said: Said;
  /** By their keys; `input.amount` is one of the input's. */
  problems: ReadonlyMap<string, string>;
  /** Of the agent's input. */
  fields: readonly FormField[];
  /** `mended`: which problem is gone with it, if it is not the key's. */
  set: (change: Partial<Said>, mended?: string) => void;
  /** For an input of text. */
  text: (name: keyof Said) => {
    value: string;
    error: string | undefined;
    onChange: (event: { currentTarget: { value: string } }) => void;
  };
};

/** `input.trigger.schedule` is the schedule's, `input.trigger.input.amount` that of the input's `input.amount`. */
export function problemAt({ path, message }: FieldProblem): [string, string][] {
  const [, first = "", ...others] = path.split(".");
  const [name, ...within] = first === "trigger" || first === "policy" ? others : [first];
  if (!name) return [];
  return name === "input" ? [[[name, ...within].join("."), message]] : [[name, [...within, message].join(" ")]];
}

function jsonIn(name: "input" | "filter", text: string): Json | undefined {
  if (text.trim() === "") return undefined;
  try {
    return parseJson(text);
  } catch {
    const message = "is not JSON";
    const path = `input.trigger.${name}`;
    throw new Refusal(`The ${name} is not JSON.`, {
      code: "BAD_USER_INPUT",
      fields: [{ path, code: "invalid", message }],
    });
  }
}

/** Throws Refusal for what is not JSON. */
export function configurationOf(type: TriggerType, { schedule, timezone, input, source, event, filter }: Said) {
  if (type === "webhook") return { type };
  if (type === "event") return { type, source, event, filter: jsonIn("filter", filter) };
  return { type, schedule, timezone, input: jsonIn("input", input) };
}

/** Throws Refusal for what is not JSON. */
export function policyOf(type: TriggerType, { overlap, missed, jitterSeconds, mapping, accept, filter }: Said) {
  if (type === "cron") return { overlap, missed, jitterSeconds };
  const shared = { overlap, ...(mapping.trim() && { mapping }) };
  return type === "event" ? shared : { ...shared, accept, filter: jsonIn("filter", filter) };
}

/** A policy that is given replaces all of the former one: what this form does not show stays as it is. */
export function unshown(trigger: TriggerPartFragment | undefined) {
  if (!trigger) return {};
  const { signature, allowedAddresses, catchUpMinutes, startsAt, endsAt, deliveryHeader } = trigger.policy;
  const all = { signature, allowedAddresses, catchUpMinutes, startsAt, endsAt, deliveryHeader };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
}
