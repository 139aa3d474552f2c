/** One or several of few, all to be seen. */
import { Checkbox, Radio, SegmentedControl } from "@mantine/core";
import { FieldGroup, type ControlProps } from "./field-label.tsx";
import classes from "./input-form.module.css";

/** Beside each other in a narrow form's width, each with this room around it. */
const MAX_CHARACTERS = 36;
const ROOM = 3;

const optionsOf = ({ choices }: ControlProps["field"]) =>
  (choices ?? []).map(({ value, title }) => ({ value, label: title }));

/** One: beside each other where they fit, else below one another. */
export function FewChoices(props: ControlProps) {
  const { id, field, value, error, onChange } = props;
  const options = optionsOf(field);
  const chosen = typeof value === "string" ? value : "";
  const isShort = options.reduce((sum, { label }) => sum + label.length + ROOM, 0) <= MAX_CHARACTERS;
  const clear = !field.required && chosen !== "" && (
    <button type="button" className={classes["clear"]} onClick={() => onChange("")}>
      Clear <span className={classes["hidden"]}>{field.title}</span>
    </button>
  );
  const labelled = (described: string | undefined) => ({
    "aria-labelledby": `${id}-label`,
    "aria-describedby": described,
    "aria-required": field.required,
    "aria-invalid": error !== undefined,
  });
  return (
    <FieldGroup {...props} action={clear}>
      {(described) =>
        isShort ? (
          <SegmentedControl
            {...labelled(described)}
            className={classes["segments"]}
            data-problem={error !== undefined || undefined}
            value={chosen}
            data={options}
            onChange={onChange}
          />
        ) : (
          <div role="radiogroup" {...labelled(described)} className={classes["choices"]}>
            {options.map((one) => (
              <Radio
                key={one.value}
                {...one}
                name={id}
                checked={one.value === chosen}
                onChange={() => onChange(one.value)}
              />
            ))}
          </div>
        )
      }
    </FieldGroup>
  );
}

export function SomeChoices(props: ControlProps) {
  const { id, field, value, onChange } = props;
  const chosen = Array.isArray(value) ? (value as readonly string[]) : [];
  const options = optionsOf(field);
  return (
    <FieldGroup {...props}>
      {(described) => (
        <div role="group" aria-labelledby={`${id}-label`} aria-describedby={described} className={classes["choices"]}>
          {options.map((one) => (
            <Checkbox
              key={one.value}
              label={one.label}
              checked={chosen.includes(one.value)}
              onChange={({ currentTarget: { checked } }) =>
                onChange(
                  options
                    .map((other) => other.value)
                    .filter((other) => (other === one.value ? checked : chosen.includes(other))),
                )
              }
            />
          ))}
        </div>
      )}
    </FieldGroup>
  );
}
