/** A date that is fixed, or counted from the day on which a trigger is due: `@last-week.start` (docs/triggers.md). */
import { NativeSelect, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./input-form.module.css";

type Named = { value: string; label: string };

const DAYS: readonly Named[] = [
  { value: "@yesterday", label: "The day before it is due" },
  { value: "@today", label: "The day on which it is due" },
  { value: "@tomorrow", label: "The day after it is due" },
];
const PERIODS = ["week", "month", "quarter", "year"] as const;
const namesOf = (period: string): Named[] =>
  ["last", "this", "next"].flatMap((which) => [
    { value: `@${which}-${period}.start`, label: `First day of ${which} ${period}` },
    { value: `@${which}-${period}.end`, label: `Last day of ${which} ${period}` },
  ]);
const CHOICES = [
  { value: "", label: "A fixed day" },
  ...DAYS,
  ...PERIODS.map((period) => ({ group: `By the ${period}`, items: namesOf(period) })),
];

type Props = {
  id: string;
  label: ReactNode;
  title: string;
  description: string | undefined;
  error: string | undefined;
  value: string;
  onChange: (value: string) => void;
  onBlur: () => void;
};

export function DueDate({ id, label, title, description, error, value, onChange, onBlur }: Props) {
  const isCounted = value.startsWith("@");
  return (
    <div className={classes["due"]}>
      <NativeSelect
        {...{ id, label, description, onBlur }}
        error={isCounted && error}
        value={isCounted ? value : ""}
        data={CHOICES}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      {!isCounted && (
        <TextInput
          type="date"
          aria-label={`${title}, as a date`}
          error={error}
          value={value}
          onBlur={onBlur}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </div>
  );
}
