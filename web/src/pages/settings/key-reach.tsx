/** Where a key may do it: everywhere, or at some agents and projects. */
import { useState } from "react";
import { isOptionsGroup, MultiSelect, Radio } from "@mantine/core";
import { useQuery } from "urql";
import { KeyReachDocument } from "../../api/documents.ts";
import { refusalIn } from "../../api/refusal.ts";
import { Problem } from "../../components/notice.tsx";
import { amongRead, moreChoices, TYPE_FOR_MORE } from "../../forms/more-choices.ts";
import { useFoundAgents, type FoundAgent } from "../../forms/use-found-agents.ts";
import classes from "./create-key.module.css";
import settings from "./settings.module.css";

/** `isNarrow`: only where the others say. */
export type Reach = { isNarrow: boolean; projectIds: readonly string[]; agents: readonly FoundAgent[] };
export const EVERYWHERE: Reach = { isNarrow: false, projectIds: [], agents: [] };

/** Those that no chosen project has already. */
export const agentsLeft = ({ projectIds, agents }: Pick<Reach, "projectIds" | "agents">): readonly FoundAgent[] =>
  agents.filter(({ project }) => !projectIds.includes(project.id));

type Props = {
  reach: Reach;
  /** It is of agents, whatever is chosen. */
  isOfAgents: boolean;
  /** As a sentence about what is called so. */
  problemOf: (label: string) => string | undefined;
  onChange: (change: Partial<Reach>) => void;
};

export function KeyReach({ reach, isOfAgents, problemOf, onChange }: Props) {
  if (isOfAgents) return <AgentsField reach={reach} problem={problemOf("Agents")} onChange={onChange} />;
  return (
    <>
      <Radio.Group
        label="Where"
        value={reach.isNarrow ? "some" : "all"}
        onChange={(value) => onChange({ isNarrow: value === "some" })}
      >
        <div className={classes["presets"]}>
          <Radio value="all" label="The whole organization" />
          <Radio value="some" label="Only some projects or agents" />
        </div>
      </Radio.Group>
      {reach.isNarrow && (
        <>
          <AgentsField reach={reach} problem={problemOf("Agents or projects")} onChange={onChange} />
          <ProjectsField reach={reach} onChange={onChange} />
        </>
      )}
    </>
  );
}

type FieldProps = Pick<Props, "reach" | "onChange">;

function ProjectsField({ reach, onChange }: FieldProps) {
  const [{ data, error }] = useQuery({ query: KeyReachDocument });
  const projects = data?.projects?.nodes ?? [];
  if (error) return <Problem refusal={refusalIn(error)} />;
  if (projects.length === 0) return null;
  return (
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
      openOnFocus={false}
      filter={amongRead}
      onChange={(projectIds) => onChange({ projectIds })}
    />
  );
}

const NOT_ARCHIVED = { status: ["draft" as const, "active" as const, "paused" as const] };

function AgentsField({ reach, problem, onChange }: FieldProps & { problem: string | undefined }) {
  const [typed, setTyped] = useState("");
  const { found, hasMore, error } = useFoundAgents(typed, NOT_ARCHIVED);
  const chosen = agentsLeft(reach);
  const offered = agentsLeft({ projectIds: reach.projectIds, agents: found ?? [] });
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
        // A field that is wrong is given the focus, and its list would lie on what is wrong.
        openOnFocus={false}
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
