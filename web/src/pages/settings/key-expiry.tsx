/** Until when a key is good. */
import { NativeSelect, TextInput } from "@mantine/core";

const DAY_MS = 86_400_000;
const ENDS = [
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "date", label: "On a date" },
  { value: "", label: "Never" },
];

/** `ends`: in so many days, on a `date`, or never. */
export type Expiry = { ends: string; date: string };
export const AT_FIRST: Expiry = { ends: "90", date: "" };

export const isDateMissing = ({ ends, date }: Expiry): boolean => ends === "date" && date === "";

/** A date stands for the end of that day, where the reader is. */
export function endOf({ ends, date }: Expiry): string | undefined {
  if (ends === "") return undefined;
  const end = ends === "date" ? new Date(`${date}T23:59:59`) : new Date(Date.now() + Number(ends) * DAY_MS);
  return end.toISOString();
}

type Props = {
  expiry: Expiry;
  /** As a sentence about what is called so. */
  problemOf: (label: string) => string | undefined;
  onChange: (expiry: Expiry) => void;
};

export const KeyExpiry = ({ expiry: { ends, date }, problemOf, onChange }: Props) => (
  <>
    <NativeSelect
      label="Expires"
      value={ends}
      data={ENDS}
      onChange={(event) => onChange({ ends: event.currentTarget.value, date })}
      error={ends === "date" ? undefined : problemOf("Expires")}
    />
    {ends === "date" && (
      <TextInput
        type="date"
        label="Last day"
        value={date}
        error={problemOf("Last day")}
        onChange={(event) => onChange({ ends, date: event.currentTarget.value })}
      />
    )}
  </>
);
