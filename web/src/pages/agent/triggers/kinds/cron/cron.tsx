/** Triggers that fire on a schedule: when, with which input, and what happens to times that were missed. */
import { Autocomplete, NativeSelect, NumberInput, TextInput } from "@mantine/core";
import type { MissedInstants, TriggerPartFragment } from "../../../../../api/documents.ts";
import { InputPart } from "../../../../../forms/input-part.tsx";
import { inputFrom, valuesFrom } from "../../../../../forms/values.ts";
import { jsonIn, jsonText } from "../json-text.ts";
import { defineKind, type FieldsProps } from "../trigger-kind.ts";
import { CronInstants } from "./cron-instants.tsx";
import { CronPreview } from "./cron-preview.tsx";
import { cronWords } from "./cron-words.ts";

type Own = { schedule: string; timezone: string; input: string; missed: MissedInstants; jitterSeconds: number };

const MISSED = [
  { value: "latest", label: "Fire for the latest, if it is recent" },
  { value: "all", label: "Fire for each" },
  { value: "none", label: "Do nothing" },
];

/** Not every browser lists it. */
const ZONES = [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone")])];

const Fields = ({ said, problems, fields, set, problemOf, text }: FieldsProps<Own>) => (
  <>
    <TextInput
      description="Minute, hour, day of month, month, day of week."
      autoComplete="off"
      {...text("schedule", "Schedule")}
    />
    <Autocomplete
      label="Time zone"
      data={ZONES}
      limit={20}
      value={said.timezone}
      error={problemOf("timezone", "Time zone")}
      onChange={(timezone) => set({ timezone })}
    />
    <CronPreview
      schedule={said.schedule}
      timezone={said.timezone}
      isRefused={problems.has("schedule") || problems.has("timezone")}
    />
    <InputPart
      label="Input"
      description="A JSON object. @today, @last-week.start and the like become dates."
      fields={fields}
      text={said.input}
      problems={ofInput(problems)}
      hasDueDates
      onChange={(input, name) => set({ input }, name === undefined ? "input" : `input.${name}`)}
    />
  </>
);

const LastFields = ({ said, set, problemOf, text }: FieldsProps<Own>) => (
  <>
    <NativeSelect data={MISSED} {...text("missed", "Times that were missed while the server was down")} />
    <NumberInput
      label="Delay by up to (seconds)"
      description="Delays each firing by a fixed amount, up to this many seconds."
      min={0}
      max={3_600}
      value={said.jitterSeconds}
      error={problemOf("jitterSeconds", "Delay")}
      onChange={(value) => set({ jitterSeconds: Number(value) || 0 })}
    />
  </>
);

const Details = ({ trigger: { status, nextInstants, timezone } }: { trigger: TriggerPartFragment }) => (
  <>
    {status === "paused" && <p className="dim">Paused. If resumed, it would next run:</p>}
    <CronInstants instants={nextInstants} timezone={timezone!} />
  </>
);

export const cron = defineKind<Own>({
  word: "On a schedule",
  sentenceOf: ({ schedule, timezone }) => `${cronWords(schedule!)}, ${timezone}`,
  saidBy: (trigger, fields) => ({
    schedule: trigger?.schedule ?? "0 8 * * 1-5",
    timezone: trigger?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    input: jsonText(trigger ? trigger.input : inputFrom(fields, valuesFrom(fields))),
    missed: trigger?.policy.missed ?? "latest",
    jitterSeconds: trigger?.policy.jitterSeconds ?? 0,
  }),
  overlap: "skip",
  configurationOf: ({ schedule, timezone, input }) => ({ schedule, timezone, input: jsonIn("input", input) }),
  policyOf: ({ missed, jitterSeconds }) => ({ missed, jitterSeconds }),
  Fields,
  LastFields,
  isEditedAtFields: true,
  Details,
  byHand: { word: "Fire now", hasPayload: false },
});

/** `input.amount` is the field's, `input` the whole's. */
const ofInput = (problems: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map(
    [...problems].flatMap(([path, message]): [string, string][] => {
      if (path === "input") return [["", message]];
      return path.startsWith("input.") ? [[path.split(".")[1]!, message]] : [];
    }),
  );
