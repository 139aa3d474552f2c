/** The agents and projects that a key is narrowed to. */
import { useState } from "react";
import { isOptionsGroup, MultiSelect } from "@mantine/core";
import { useQuery } from "urql";
import { KeyReachDocument } from "../../api/documents.ts";
import { refusalIn } from "../../api/refusal.ts";
import { Problem } from "../../components/notice.tsx";
import { amongRead, moreChoices, TYPE_FOR_MORE } from "../../forms/more-choices.ts";
import { useFoundAgents, type FoundAgent } from "../../forms/use-found-agents.ts";
import settings from "./settings.module.css";

export type Reach = { projectIds: readonly string[]; agents: readonly FoundAgent[] };

type Props = {
  reach: Reach;
  /** Without projects. */
  isOfAgents: boolean;
  problem: string | undefined;
  onChange: (change: Partial<Reach>) => void;
};

/** A project has them already. */
export const agentsLeft = ({ projectIds, agents }: Reach): readonly FoundAgent[] =>
  agents.filter(({ project }) => !projectIds.includes(project.id));

export function KeyReach({ reach, isOfAgents, problem, onChange }: Props) {
  const [{ data, error }] = useQuery({ query: KeyReachDocument, pause: isOfAgents });
  const projects = data?.projects?.nodes ?? [];
  return (
    <>
      {error && <Problem refusal={refusalIn(error)} />}
      <AgentsField reach={reach} problem={problem} onChange={onChange} />
      {!isOfAgents && projects.length > 0 && (
        <MultiSelect
          label={
            <>
              Projects <span className={settings["optional"]}>all their agents, also future ones</span>
            </>
          }
          placeholder={reach.projectIds.length === 0 ? "Choose projects" : ""}
          data={[
            ...projects.map((one) => ({ value: one.id, label: one.name })),
            ...moreChoices(data?.projects?.pageInfo.hasNextPage, "and more, older ones"),
          ]}
          value={[...reach.projectIds]}
          searchable
          filter={amongRead}
          onChange={(projectIds) => onChange({ projectIds })}
        />
      )}
    </>
  );
}

const NOT_ARCHIVED = { status: ["draft" as const, "active" as const, "paused" as const] };

function AgentsField({ reach, problem, onChange }: Omit<Props, "isOfAgents">) {
  const [typed, setTyped] = useState("");
  const { found, hasMore, error } = useFoundAgents(typed, NOT_ARCHIVED);
  const chosen = agentsLeft(reach);
  const offered = agentsLeft({ ...reach, agents: found ?? [] });
  const isOffered = (id: string): boolean => offered.some((agent) => agent.id === id);
  const known = [...offered, ...chosen.filter(({ id }) => !isOffered(id))];
  return (
    <>
      {error && <Problem refusal={refusalIn(error)} />}
      <MultiSelect
        label="Agents"
        placeholder={chosen.length === 0 ? "Choose agents" : ""}
        data={[
          ...known.map((one) => ({ value: one.id, label: `${one.name} (${one.project.handle}/${one.handle})` })),
          ...moreChoices(hasMore, TYPE_FOR_MORE),
        ]}
        value={chosen.map(({ id }) => id)}
        searchable
        // The server finds them; those that are chosen already have to be known.
        filter={({ options }) =>
          options.filter((one) => isOptionsGroup(one) || one.disabled === true || isOffered(one.value))
        }
        nothingFoundMessage={found ? "No matching agents" : "Loading the agents…"}
        error={problem}
        onSearchChange={setTyped}
        onChange={(ids) => onChange({ agents: known.filter(({ id }) => ids.includes(id)) })}
      />
    </>
  );
}
