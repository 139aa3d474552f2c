import { NativeSelect } from "@mantine/core";

/** One of few, or none. */
export function Choice<Value extends string>({
  label,
  none,
  value,
  options,
  onChange,
}: {
  label: string;
  /** Shown when nothing is chosen. */
  none: string;
  value: Value | undefined;
  options: readonly { value: Value; label: string }[];
  onChange: (value: Value | undefined) => void;
}) {
  return (
    <NativeSelect
      aria-label={label}
      size="sm"
      value={value ?? ""}
      data={[{ value: "", label: none }, ...options]}
      onChange={(event) => onChange((event.currentTarget.value || undefined) as Value | undefined)}
    />
  );
}
