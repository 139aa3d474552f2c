/** One of the active agents, however many there are: the server searches them. */
import { useState } from "react";
import { Select } from "@mantine/core";
import { useQuery } from "urql";
import { AgentChoiceDocument } from "../../api/documents.ts";
import { useLater } from "../../lib/use-later.ts";
import { Tag, type Note } from "../field-label.tsx";

type Named = { id: string; name: string };

type Props = { chosen: Named | null; note: Note | undefined; onChoose: (agentId: string) => void };

const ASKED_AFTER_MS = 150;

export function AgentChoice({ chosen, note, onChoose }: Props) {
  const [search, setSearch] = useState("");
  // What stands there when it is opened is the chosen one's name.
  const text = useLater(search === chosen?.name ? "" : search, ASKED_AFTER_MS);
  const [{ data }] = useQuery({ query: AgentChoiceDocument, variables: { filter: { status: ["active"], text } } });
  const found: readonly Named[] = data?.agentsConnection?.nodes ?? [];
  const all = chosen && !found.some(({ id }) => id === chosen.id) ? [chosen, ...found] : found;
  return (
    <Select
      label={
        <>
          Agent
          <Tag note={note} />
        </>
      }
      placeholder="Choose an agent"
      w="100%"
      maw={480}
      searchable
      allowDeselect={false}
      nothingFoundMessage="No matching agents"
      value={chosen?.id ?? null}
      data={all.map(({ id, name }) => ({ value: id, label: name }))}
      filter={({ options }) => options}
      onSearchChange={setSearch}
      onChange={(id) => id && id !== chosen?.id && onChoose(id)}
    />
  );
}
