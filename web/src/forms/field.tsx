/** One field of a form, by its type. */
import { lazy, Suspense, useState, type ReactNode } from "react";
import { Skeleton, Switch, Textarea, TextInput } from "@mantine/core";
import { DueDate } from "./due-date.tsx";
import { FewChoices, SomeChoices } from "./few-choices.tsx";
import { useAfterPress } from "../lib/use-after-press.ts";
import { FieldLabel, type ControlProps, type Note } from "./field-label.tsx";
import type { FieldValue, FormField } from "./values.ts";

const SearchedChoice = lazy(async () => ({ default: (await import("./searched-choice.tsx")).SearchedChoice }));
/** px, with its label. */
const CHOICE_HEIGHT = 60;
/** With more choices than this they are searched. */
const FEW = 4;
/** A text that may be longer, or that has lines already, gets a text area. */
const ONE_LINE_CHARACTERS = 200;

type Props = Pick<ControlProps, "id" | "field" | "value" | "onChange" | "onLeave"> & {
  problem: string | undefined;
  note: Note | undefined;
  /** A date may be counted from the day on which a trigger is due. */
  hasDueDates?: boolean;
};

export function Field({ problem, note, hasDueDates = false, ...common }: Props) {
  const { field, onLeave } = common;
  const leave = useAfterPress(onLeave);
  const Control = CONTROLS[field.type];
  return (
    <Control
      {...common}
      onLeave={leave}
      hasDueDates={hasDueDates}
      label={<FieldLabel field={field} note={note} />}
      error={problem && `${field.title} ${problem}`}
    />
  );
}

/** For a control that is one input. */
const inputProps = ({ id, field, label, error, onLeave }: ControlProps) => ({
  id,
  label,
  error,
  description: field.description ?? undefined,
  "aria-required": field.required,
  onBlur: onLeave,
});

const textOf = (value: FieldValue): string => (typeof value === "string" ? value : "");

const Line = (props: ControlProps & { type?: "text" | "date"; inputMode?: "numeric" | "decimal" }) => (
  <TextInput
    {...inputProps(props)}
    type={props.type ?? "text"}
    inputMode={props.inputMode}
    autoComplete="off"
    value={textOf(props.value)}
    onChange={(event) => props.onChange(event.currentTarget.value)}
  />
);

const Lines = (props: ControlProps & { minRows: number; help?: string }) => (
  <Textarea
    {...inputProps(props)}
    description={props.field.description ?? props.help}
    autosize
    minRows={props.minRows}
    maxRows={12}
    value={textOf(props.value)}
    onChange={(event) => props.onChange(event.currentTarget.value)}
  />
);

function Text(props: ControlProps) {
  const { field, value } = props;
  // Not again with each key: one control would take the place of the other under the caret.
  const [isLong] = useState(() => (field.maxLength ?? 0) > ONE_LINE_CHARACTERS || textOf(value).includes("\n"));
  return isLong ? <Lines {...props} minRows={2} /> : <Line {...props} />;
}

const Day = (props: ControlProps) =>
  props.hasDueDates ? (
    <DueDate {...inputProps(props)} title={props.field.title} value={textOf(props.value)} onChange={props.onChange} />
  ) : (
    <Line {...props} type="date" />
  );

const Choice = (props: ControlProps) => {
  const options = props.field.choices?.map(({ value, title }) => ({ value, label: title })) ?? [];
  if (options.length <= FEW) return <FewChoices {...props} />;
  return (
    <Suspense fallback={<Skeleton height={CHOICE_HEIGHT} />}>
      <SearchedChoice
        {...inputProps(props)}
        clearable={!props.field.required}
        value={textOf(props.value)}
        data={options}
        onChange={props.onChange}
      />
    </Suspense>
  );
};

/** It always says something: required says nothing more. */
const YesOrNo = (props: ControlProps) => (
  <Switch
    {...inputProps(props)}
    aria-required={undefined}
    checked={props.value === true}
    onChange={(event) => props.onChange(event.currentTarget.checked)}
  />
);

const CONTROLS: Record<FormField["type"], (props: ControlProps) => ReactNode> = {
  text: Text,
  choice: Choice,
  date: Day,
  boolean: YesOrNo,
  number: (props) => <Line {...props} inputMode="decimal" />,
  integer: (props) => <Line {...props} inputMode="numeric" />,
  list: (props) =>
    props.field.choices ? <SomeChoices {...props} /> : <Lines {...props} minRows={3} help="One a line." />,
};
