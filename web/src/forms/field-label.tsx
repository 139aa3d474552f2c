/** The surroundings of a control: its label, its help and its problem. */
import type { FocusEvent, ReactNode } from "react";
import classes from "./input-form.module.css";
import type { FieldValue, FormField } from "./values.ts";

/** Where a value came from: `said` by somebody, `plain` if nobody said anything of it, `check` if somebody has to look at it. */
export type Note = { text: string; kind: "said" | "plain" | "check" };

export const Tag = ({ note }: { note: Note | undefined }) =>
  note && (
    <span className={classes["note"]} data-kind={note.kind}>
      {note.text}
    </span>
  );

export const FieldLabel = ({ field: { title, required }, note }: { field: FormField; note: Note | undefined }) => (
  <>
    {title} {required && <span className={classes["required"]}>required</span>}
    <Tag note={note} />
  </>
);

/** The properties of a control, of whatever type its field is. */
export type ControlProps = {
  id: string;
  field: FormField;
  value: FieldValue;
  label: ReactNode;
  /** As a sentence, with the field's title. */
  error: string | undefined;
  /** A date may be counted from the day on which a trigger is due. */
  hasDueDates: boolean;
  onChange: (value: FieldValue) => void;
  onLeave: () => void;
};

type GroupProps = Pick<ControlProps, "id" | "field" | "label" | "error" | "onLeave"> & {
  /** Beside the label. */
  action?: ReactNode;
  /** `described`: the ids of the help and of what is wrong. */
  children: (described: string | undefined) => ReactNode;
};

/** Around several inputs that are one field. It is left when the focus goes to none of them. */
export function FieldGroup({ id, field: { name, description }, label, action, error, onLeave, children }: GroupProps) {
  const [help, problem] = [description && `${id}-help`, error && `${id}-problem`];
  const leave = ({ currentTarget, relatedTarget }: FocusEvent): void => {
    if (!currentTarget.contains(relatedTarget)) onLeave();
  };
  return (
    <div className={classes["group"]} data-field={name} onBlur={leave}>
      <span className={classes["head"]}>
        <span className={classes["label"]} id={`${id}-label`}>
          {label}
        </span>
        {action}
      </span>
      {help && (
        <span className={classes["help"]} id={help}>
          {description}
        </span>
      )}
      {children([help, problem].filter(Boolean).join(" ") || undefined)}
      {problem && (
        <span className={classes["problem"]} id={problem}>
          {error}
        </span>
      )}
    </div>
  );
}
