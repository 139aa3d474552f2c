/**
 * A text area for JSON. It is wrong when its form says so, and never because it was left: a line that comes while a button is pressed
 * would move the button away from the pointer.
 */
import { Textarea, type TextareaProps } from "@mantine/core";

type Props = Pick<TextareaProps, "label" | "aria-label" | "description" | "minRows" | "maxRows"> & {
  text: string;
  /** A sentence: `Data is not JSON`. */
  error: string | undefined;
  onChange: (text: string) => void;
};

export const JsonField = ({ text, error, onChange, ...more }: Props) => (
  <Textarea
    {...more}
    autosize
    autoComplete="off"
    data-monospace
    value={text}
    error={error}
    onChange={(event) => onChange(event.currentTarget.value)}
  />
);
