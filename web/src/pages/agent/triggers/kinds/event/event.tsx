/** Triggers that fire on an event: which one they take, and how it becomes the run's input. */
import { TextInput } from "@mantine/core";
import { isObject, type Json } from "../../../../../lib/json.ts";
import { FilterPart } from "../filter-part.tsx";
import { jsonIn, jsonText } from "../json-text.ts";
import { Mapping, mappingOf } from "../mapping.tsx";
import { defineKind, type FieldsProps } from "../trigger-kind.ts";

type Own = { source: string; event: string; filter: string; mapping: string };

const Fields = ({ said, fields, set, problemOf, text }: FieldsProps<Own>) => (
  <>
    <TextInput description="The system that sends it, such as shop." autoComplete="off" {...text("source", "Source")} />
    <TextInput description="Such as order.created." autoComplete="off" {...text("event", "Event")} />
    <FilterPart
      text={said.filter}
      error={problemOf("filter", "Filter")}
      everything="Every event with this name is taken."
      onChange={(filter) => set({ filter })}
    />
    <Mapping fields={fields} text={text} />
  </>
);

export const event = defineKind<Own>({
  word: "On an event",
  sentenceOf: ({ source, event: name, filter }) => {
    const conditions = isObject(filter) ? Object.entries(filter).map(([field, one]) => conditionOf(field, one)) : [];
    const said = `When ${source} says ${name}`;
    return conditions.length > 0 ? `${said}, if ${conditions.join(" and ")}` : said;
  },
  saidBy: (trigger) => ({
    source: trigger?.source ?? "",
    event: trigger?.event ?? "",
    filter: jsonText(trigger?.filter),
    mapping: trigger?.policy.mapping ?? "",
  }),
  overlap: "allow",
  configurationOf: ({ source, event: name, filter }) => ({ source, event: name, filter: jsonIn("filter", filter) }),
  policyOf: mappingOf,
  Fields,
  byHand: { word: "Fire now", hasPayload: true },
});

const conditionOf = (field: string, accepted: Json): string => {
  const values = Array.isArray(accepted) ? accepted : [accepted];
  const words = values.map((value: Json) => (typeof value === "string" ? value : JSON.stringify(value)));
  return `${field} is ${words.join(" or ")}`;
};
