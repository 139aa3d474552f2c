import { useState } from "react";
import { ActionIcon, Button, SegmentedControl, TagsInput, TextInput } from "@mantine/core";
import { Icon, SHAPES } from "../../../../components/icon.tsx";
import { JsonField } from "../../../../forms/json-field.tsx";
import { linesIn, textOf, type FilterLine } from "./filter-said.ts";
import classes from "./filter-part.module.css";

type Props = {
  /** JSON, as it is typed. */
  text: string;
  /** A sentence: `Filter is not JSON`. */
  error: string | undefined;
  /** The meaning of an empty filter. */
  everything: string;
  onChange: (text: string) => void;
};

/** Chooses events or calls by fields of their data; JSON says what the form cannot. */
export function FilterPart({ text, error, everything, onChange }: Props) {
  const [isJson, setIsJson] = useState(() => linesIn(text) === undefined);
  const [lines, setLines] = useState<FilterLine[]>(() => linesIn(text) ?? []);
  const isSaid = linesIn(text) !== undefined;
  const show = (asJson: boolean): void => {
    setIsJson(asJson);
    if (!asJson) setLines(linesIn(text) ?? []);
  };
  const change = (next: FilterLine[]): void => {
    setLines(next);
    onChange(textOf(next));
  };
  const set = (at: number, changed: Partial<FilterLine>): void =>
    change(lines.map((line, index) => (index === at ? { ...line, ...changed } : line)));
  return (
    <fieldset className={classes["filter"]}>
      <legend>Filter</legend>
      <SegmentedControl
        size="xs"
        aria-label="How to write the filter"
        value={isJson ? "json" : "form"}
        data={[
          { value: "form", label: "Form", disabled: isJson && !isSaid },
          { value: "json", label: "JSON" },
        ]}
        onChange={(way) => show(way === "json")}
      />
      {isJson && (
        <JsonField
          aria-label="Filter"
          description={`For each field, the accepted values: {"total": [1, 2]}. Empty: ${everything.toLowerCase()}`}
          minRows={2}
          text={text}
          error={error}
          onChange={onChange}
        />
      )}
      {!isJson && lines.length === 0 && <p className="dim">{everything}</p>}
      {!isJson &&
        lines.map((line, at) => (
          <Line
            // oxlint-disable-next-line react/no-array-index-key -- a line has nothing else while it is typed
            key={at}
            line={line}
            number={at + 1}
            onChange={(changed) => set(at, changed)}
            onRemove={() => change(lines.filter((_, index) => index !== at))}
          />
        ))}
      {!isJson && error && <p className={classes["wrong"]}>{error}</p>}
      {!isJson && (
        <Button variant="default" size="compact-sm" onClick={() => setLines([...lines, { field: "", values: [] }])}>
          {lines.length === 0 ? "Only if a field is…" : "And if a field is…"}
        </Button>
      )}
    </fieldset>
  );
}

type LineProps = {
  line: FilterLine;
  number: number;
  onChange: (changed: Partial<FilterLine>) => void;
  onRemove: () => void;
};

const Line = ({ line: { field, values }, number, onChange, onRemove }: LineProps) => (
  <div className={classes["condition"]}>
    <TextInput
      aria-label={`Field ${number}`}
      placeholder="country"
      autoComplete="off"
      value={field}
      onChange={(event) => onChange({ field: event.currentTarget.value })}
    />
    <span className="dim">is</span>
    <TagsInput
      aria-label={`Accepted values of field ${number}`}
      placeholder={values.length === 0 ? "FR, then Enter" : "or"}
      value={values}
      acceptValueOnBlur
      onChange={(next) => onChange({ values: next })}
    />
    <ActionIcon variant="subtle" color="gray" aria-label={`Remove field ${number}`} onClick={onRemove}>
      <Icon shape={SHAPES.close} />
    </ActionIcon>
  </div>
);
