/** Triggers that fire when their URL is called: which calls they take, and how a body becomes the run's input. */
import { NativeSelect } from "@mantine/core";
import type { WebhookAccept } from "../../../../../api/documents.ts";
import { FilterPart } from "../filter-part.tsx";
import { jsonIn, jsonText } from "../json-text.ts";
import { Mapping, mappingOf } from "../mapping.tsx";
import { defineKind, type FieldsProps } from "../trigger-kind.ts";

type Own = { accept: WebhookAccept; filter: string; mapping: string };

const ACCEPTED = [
  { value: "json", label: "JSON" },
  { value: "form", label: "JSON and forms" },
];

const Fields = ({ said, fields, set, problemOf, text }: FieldsProps<Own>) => (
  <>
    <NativeSelect data={ACCEPTED} {...text("accept", "Bodies")} />
    <FilterPart
      text={said.filter}
      error={problemOf("filter", "Filter")}
      everything="Every call is taken."
      onChange={(filter) => set({ filter })}
    />
    <Mapping fields={fields} text={text} />
  </>
);

export const webhook = defineKind<Own>({
  word: "When a URL is called",
  sentenceOf: () => "When its URL is called",
  saidBy: (trigger) => ({
    accept: trigger?.policy.accept ?? "json",
    filter: jsonText(trigger?.policy.filter),
    mapping: trigger?.policy.mapping ?? "",
  }),
  overlap: "allow",
  configurationOf: () => ({}),
  policyOf: ({ accept, filter, mapping }) => ({ ...mappingOf({ mapping }), accept, filter: jsonIn("filter", filter) }),
  Fields,
  hasUrl: true,
  byHand: { word: "Send a test call", hasPayload: true },
});
