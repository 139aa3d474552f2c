import { useState } from "react";
import { NativeSelect, Select, TextInput } from "@mantine/core";
import { useQuery } from "urql";
import { FilterStartersDocument, FrameDocument } from "../../api/documents.ts";
import { amongRead, moreChoices, TYPE_FOR_MORE } from "../../forms/more-choices.ts";
import { useFoundAgents } from "../../forms/use-found-agents.ts";
import { localText, PERIODS, timeOf, type Period } from "../../lib/periods.ts";
import { STARTERS, type Change, type RunsSearch } from "./run-filter.ts";
import classes from "./runs.module.css";

const INSIDE = { withinPortal: false };
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

type Props = {
  search: RunsSearch;
  /** The names of those that are chosen, as far as they are known. */
  agentName: string | undefined;
  byName: string | undefined;
  onChange: (change: Change) => void;
};

/** Each field acts at once. */
export function FilterForm({ search, agentName, byName, onChange }: Props) {
  const { when, from, to } = search;
  const [isOwn, setIsOwn] = useState(when === undefined && (from ?? to) !== undefined);
  return (
    <div className={classes["form"]}>
      <AgentField search={search} name={agentName} onChange={onChange} />
      <StarterField search={search} name={byName} onChange={onChange} />
      <NativeSelect
        label="Started"
        value={when ?? (isOwn ? "own" : "")}
        data={[
          { value: "", label: "At any time" },
          ...Object.entries(PERIODS).map(([value, label]) => ({ value, label })),
          { value: "own", label: "From and to…" },
        ]}
        onChange={({ currentTarget: { value } }) => {
          setIsOwn(value === "own");
          const named = value in PERIODS ? (value as Period) : undefined;
          onChange({ when: named, ...(value !== "own" && { from: undefined, to: undefined }) });
        }}
      />
      {isOwn && when === undefined && (
        <>
          <TimeField label="From" value={from} onChange={(time) => onChange({ from: time })} />
          <TimeField label="To" value={to} onChange={(time) => onChange({ to: time })} />
          <p className="dim">Times of {ZONE}</p>
        </>
      )}
    </div>
  );
}

type FieldProps = { search: RunsSearch; name: string | undefined; onChange: (change: Change) => void };

function AgentField({ search: { agent, project }, name, onChange }: FieldProps) {
  const [text, setText] = useState("");
  const { found = [], hasMore } = useFoundAgents(text === name ? "" : text, project ? { projectId: [project] } : {});
  const isFound = found.some(({ id }) => id === agent);
  return (
    <Select
      label="Agent"
      placeholder="Any agent"
      searchable
      clearable
      // The server finds them.
      filter={({ options }) => options}
      value={agent ?? null}
      data={[
        ...(agent && !isFound ? [{ value: agent, label: name ?? agent }] : []),
        ...found.map((one) => ({ value: one.id, label: one.name })),
        ...moreChoices(hasMore, TYPE_FOR_MORE),
      ]}
      searchValue={text}
      onSearchChange={setText}
      nothingFoundMessage="No agent is called that."
      comboboxProps={INSIDE}
      clearButtonProps={{ "aria-label": "Any agent" }}
      openOnFocus={false}
      data-autofocus
      onChange={(value) => onChange({ agent: value ?? undefined })}
    />
  );
}

function StarterField({ search: { agent, project, by }, name, onChange }: FieldProps) {
  const [{ data: frame }] = useQuery({ query: FrameDocument });
  const [{ data }] = useQuery({
    query: FilterStartersDocument,
    variables: {
      triggers: { ...(agent && { agentId: [agent] }), ...(project && { projectId: [project] }) },
      hasKeys: frame?.caller?.scopes.includes("admin") ?? false,
    },
    pause: !frame,
  });
  const people = (data?.members?.nodes ?? []).map(({ user }) => ({ value: user.id, label: user.name }));
  const triggers = (data?.triggers?.nodes ?? []).map(({ id, name: trigger, agent: { name: of } }) => ({
    value: id,
    label: `${of} / ${trigger}`,
  }));
  const keys = (data?.apiKeys?.nodes ?? []).map(({ id, name: key }) => ({ value: id, label: key }));
  const groups = [
    { group: "Anything of a kind", items: Object.entries(STARTERS).map(([value, label]) => ({ value, label })) },
    {
      group: "People",
      items: [...people, ...moreChoices(hasMore(data?.members), "and more people, who joined earlier")],
    },
    {
      group: "Triggers",
      items: [...triggers, ...moreChoices(hasMore(data?.triggers), "and more triggers, older ones")],
    },
    { group: "API keys", items: [...keys, ...moreChoices(hasMore(data?.apiKeys), "and more keys, older ones")] },
  ];
  const isKnown = by === undefined || groups.some(({ items }) => items.some(({ value }) => value === by));
  return (
    <Select
      label="Started by"
      placeholder="Anybody and anything"
      searchable
      clearable
      filter={amongRead}
      value={by ?? null}
      data={isKnown ? groups : [{ value: by, label: name ?? by }, ...groups]}
      nothingFoundMessage="No match."
      comboboxProps={INSIDE}
      clearButtonProps={{ "aria-label": "Anybody and anything" }}
      onChange={(value) => onChange({ by: value ?? undefined })}
    />
  );
}

type Connection = { pageInfo: { hasNextPage: boolean } } | null | undefined;
const hasMore = (read: Connection): boolean | undefined => read?.pageInfo.hasNextPage;

type TimeProps = { label: string; value: string | undefined; onChange: (time: string | undefined) => void };

const TimeField = ({ label, value, onChange }: TimeProps) => (
  <TextInput
    type="datetime-local"
    label={label}
    defaultValue={value ? localText(value) : ""}
    onChange={(event) => onChange(timeOf(event.currentTarget.value))}
  />
);
