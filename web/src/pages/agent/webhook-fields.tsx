/** The part of a trigger's form that says which calls of a webhook start a run. */
import { NativeSelect } from "@mantine/core";
import { FilterPart } from "./filter-part.tsx";
import type { PartProps } from "./trigger-said.ts";

const ACCEPTED = [
  { value: "json", label: "JSON" },
  { value: "form", label: "JSON and forms" },
];

export const WebhookFields = ({ said, problems, set, text }: PartProps) => (
  <>
    <NativeSelect label="Bodies" data={ACCEPTED} {...text("accept")} />
    <FilterPart
      text={said.filter}
      problem={problems.get("filter")}
      everything="Every call is taken."
      onChange={(filter) => set({ filter })}
    />
  </>
);
