/** Of a trigger's form: which event it takes, and what the run's input is made of. */
import { Textarea, TextInput } from "@mantine/core";
import { FilterPart } from "./filter-part.tsx";
import type { PartProps } from "./trigger-said.ts";

export const EventFields = ({ said, problems, set, text }: PartProps) => (
  <>
    <TextInput
      label="Source"
      description="The system that sends it, such as shop."
      autoComplete="off"
      {...text("source")}
    />
    <TextInput label="Event" description="Such as order.created." autoComplete="off" {...text("event")} />
    <FilterPart
      text={said.filter}
      problem={problems.get("filter")}
      everything="Every event of this name is taken."
      onChange={(filter) => set({ filter })}
    />
  </>
);

export const Mapping = ({ fields, text }: PartProps) => (
  <Textarea
    label="Mapping"
    description={`jq that turns the payload into the run's input. Leave empty to pass it on unchanged.${
      fields.length > 0 ? ` The agent takes ${fields.map(({ name }) => name).join(", ")}.` : ""
    }`}
    autosize
    minRows={1}
    {...text("mapping")}
  />
);
