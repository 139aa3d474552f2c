/** One of the active agents, however many there are: the server searches them. */
import { useState } from "react";
import { Select } from "@mantine/core";
import { Tag, type Note } from "../field-label.tsx";
import { moreChoices, TYPE_FOR_MORE } from "../more-choices.ts";
import { useFoundAgents } from "../use-found-agents.ts";

type Named = { id: string; name: string };

type Props = { chosen: Named | null; note: Note | undefined; onChoose: (agentId: string) => void };

export function AgentChoice({ chosen, note, onChoose }: Props) {
  const [search, setSearch] = useState("");
  // The text there when it is opened is the chosen one's name.
  const { found = [], hasMore } = useFoundAgents(search === chosen?.name ? "" : search, { status: ["active"] });
  const all: readonly Named[] = chosen && !found.some(({ id }) => id === chosen.id) ? [chosen, ...found] : found;
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
      data={[...all.map(({ id, name }) => ({ value: id, label: name })), ...moreChoices(hasMore, TYPE_FOR_MORE)]}
      filter={({ options }) => options}
      onSearchChange={setSearch}
      onChange={(id) => id && id !== chosen?.id && onChoose(id)}
    />
  );
}
