/** Of a trigger's form: when a schedule comes, with which input, and what becomes of times that were missed. */
import { Autocomplete, NativeSelect, NumberInput, TextInput } from "@mantine/core";
import { InputPart } from "../../forms/input-part.tsx";
import { CronPreview } from "./cron-preview.tsx";
import type { PartProps } from "./trigger-said.ts";

const MISSED = [
  { value: "latest", label: "Fire for the latest, if it is recent" },
  { value: "all", label: "Fire for each" },
  { value: "none", label: "Do nothing" },
];

/** Not every browser lists it. */
const ZONES = [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone")])];

export const CronFields = ({ said, problems, fields, set, text }: PartProps) => (
  <>
    <TextInput
      label="Schedule"
      description="Minute, hour, day of month, month, day of week."
      autoComplete="off"
      {...text("schedule")}
    />
    <Autocomplete
      label="Time zone"
      data={ZONES}
      limit={20}
      value={said.timezone}
      error={problems.get("timezone")}
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

export const MissedFields = ({ said, problems, set, text }: PartProps) => (
  <>
    <NativeSelect label="Times that were missed while the server was down" data={MISSED} {...text("missed")} />
    <NumberInput
      label="Delay by up to (seconds)"
      description="Delays each firing by a fixed amount, up to this many seconds."
      min={0}
      max={3_600}
      value={said.jitterSeconds}
      error={problems.get("jitterSeconds")}
      onChange={(value) => set({ jitterSeconds: Number(value) || 0 })}
    />
  </>
);

/** `input.amount` is the field's, `input` the whole's. */
const ofInput = (problems: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map(
    [...problems].flatMap(([path, message]): [string, string][] => {
      if (path === "input") return [["", message]];
      return path.startsWith("input.") ? [[path.split(".")[1]!, message]] : [];
    }),
  );
