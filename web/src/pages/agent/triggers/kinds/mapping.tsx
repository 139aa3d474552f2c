import { Textarea } from "@mantine/core";
import type { FieldsProps } from "./trigger-kind.ts";

export type Mapped = { mapping: string };

/** The policy's key, left out if the payload is passed on unchanged. */
export const mappingOf = ({ mapping }: Mapped) => (mapping.trim() === "" ? {} : { mapping });

export const Mapping = ({ fields, text }: Pick<FieldsProps<Mapped>, "fields" | "text">) => (
  <Textarea
    description={`jq that turns the payload into the run's input. Leave empty to pass it on unchanged.${
      fields.length > 0 ? ` The agent takes ${fields.map(({ name }) => name).join(", ")}.` : ""
    }`}
    autosize
    minRows={1}
    {...text("mapping", "Mapping")}
  />
);
