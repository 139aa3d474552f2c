/** The language models that projects ask, and the server's own; keys go in and never come out. */
import { useState } from "react";
import { Button } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import {
  LlmDocument,
  ModelProjectsDocument,
  ModelToEditDocument,
  type ModelFragment,
  type Role,
} from "../../api/documents.ts";
import { useRead } from "../../api/hooks.ts";
import { Refusal, refusalIn } from "../../api/refusal.ts";
import { Loading } from "../../components/loading.tsx";
import { Empty, Problem, TryAgain, withArticle } from "../../components/notice.tsx";
import { ListProblem } from "../../components/table/rows.tsx";
import { ListFoot } from "./list-foot.tsx";
import type { PartProps, SettingsSearch } from "./part.ts";
import settings from "./settings.module.css";
import { ModelForm } from "./model-form.tsx";
import { ProjectModels } from "./project-models.tsx";
import { ServerModel } from "./server-model.tsx";

type Project = { id: string; name: string };

export function Models({ caller, search }: PartProps) {
  const { after, make, project: only, model: modelId, into } = search;
  const { asked, projects, llm, readings, readAgain } = useModels({ after, only, isAdmin: caller.may("admin") });
  const mayChange = caller.may("secrets:write");
  const { model, ...unread } = useModelToEdit(make && mayChange ? modelId : undefined);
  const navigate = useNavigate();
  const [said, setSaid] = useState("");
  const base: SettingsSearch = { ...(only && { project: only }), ...(after && { after }) };
  const show = (next: SettingsSearch): void =>
    void navigate({ to: "/settings/$part", params: { part: "models" }, search: { ...base, ...next } });
  const open = (next: SettingsSearch): void => {
    setSaid("");
    show({ make: true, ...next });
  };
  const project = projects?.find(({ id }) => id === into) ?? projects?.[0];
  if (make && mayChange && project && (model || !modelId))
    return (
      <ModelForm
        key={modelId ?? project.id}
        {...{ project, model }}
        onSaved={(name) => {
          setSaid(`${name} is saved. Calls that begin from now on use it.`);
          show({});
        }}
        onClose={() => show({})}
      />
    );
  return (
    <div className={settings["part"]}>
      <Lead {...{ mayChange, said }} role={caller.role} />
      <NotToEdit
        {...unread}
        onShow={() => {
          show({});
          readAgain();
        }}
      />
      {asked.error && <ListProblem refusal={refusalIn(asked.error)} readAgain={readAgain} />}
      {!projects && !asked.error && <Loading label="Loading the models" lines={5} />}
      {projects?.length === 0 && <NoProjects />}
      {projects?.map((one) => (
        <ProjectModels
          key={one.id}
          project={one}
          {...{ mayChange, readings }}
          onSay={setSaid}
          onAdd={() => open({ into: one.id })}
          onEdit={({ id }) => open({ model: id })}
        />
      ))}
      <ListFoot
        asked={asked.error ? asked : { ...asked, ...(llm.error && { error: llm.error }) }}
        pages={{ part: "models", what: "projects", after, next: asked.data?.projects?.pageInfo }}
        {...{ readAgain, caller }}
      >
        {projects && caller.may("admin") && <ServerModel asked={llm} readAgain={readAgain} />}
      </ListFoot>
    </div>
  );
}

/** Reads a model when it is about to be changed, as the list may be old. `refusal`: why there is none. */
function useModelToEdit(id: string | undefined) {
  const [{ data, error, fetching }, readAgain] = useRead({
    query: ModelToEditDocument,
    variables: { id: id ?? "" },
    pause: !id,
    requestPolicy: "network-only",
  });
  // Until then `data` may be of an earlier edit.
  if (!id || fetching) return { readAgain };
  const node = data?.node as Partial<ModelFragment> | null | undefined;
  const model = node?.id === id ? (node as ModelFragment) : undefined;
  const refusal = error ? refusalIn(error) : data && !model ? new Refusal(GONE, { code: "NOT_FOUND" }) : undefined;
  return { model, refusal, readAgain };
}

const GONE = "Model connection not found";

type NotToEditProps = { refusal?: Refusal | undefined; readAgain: () => void; onShow: () => void };

/** The way on from a model that was not read. */
const NotToEdit = ({ refusal, readAgain, onShow }: NotToEditProps) =>
  refusal && (
    <Problem
      refusal={refusal}
      action={
        refusal.code === "NOT_FOUND" ? (
          <Button variant="default" size="compact-md" onClick={onShow}>
            Show the models
          </Button>
        ) : (
          <TryAgain onClick={readAgain} />
        )
      }
    />
  );

type Shown = { after: string | undefined; only: string | undefined; isAdmin: boolean };

/**
 * A page of the projects, or the `only` one that the address names; and the server's model if the caller may see it. `readings` tells
 * each project to read again, too.
 */
function useModels({ after, only, isAdmin }: Shown) {
  const [asked, readProjects] = useRead({
    query: ModelProjectsDocument,
    variables: { after: after ?? null, projectId: only ?? "", isOne: only !== undefined },
    requestPolicy: "cache-and-network",
  });
  const [llm, readLlm] = useRead({ query: LlmDocument, pause: !isAdmin, requestPolicy: "cache-and-network" });
  const [readings, setReadings] = useState(0);
  const readAgain = (): void => {
    readProjects();
    if (isAdmin) readLlm();
    setReadings((before) => before + 1);
  };
  const named = asked.data?.node as Partial<Project> | null | undefined;
  // Its models are refused if the address names something else.
  const one = only && named ? { id: only, name: named.name ?? "Project" } : undefined;
  return { asked, projects: one ? [one] : asked.data?.projects?.nodes, llm, readings, readAgain };
}

type LeadProps = { mayChange: boolean; role: Role | null; said: string };

/** The models' purpose, who changes them, and the last thing that was done. */
const Lead = ({ mayChange, role, said }: LeadProps) => (
  <>
    <p className={settings["lead"]}>
      The language models that a project’s agents ask. Keys are encrypted, and nobody can read them back.
    </p>
    {!mayChange && (
      <p className="dim">
        Owners, admins and editors add, test and change models{role && `; you are ${withArticle(role)} here`}. Owners
        and admins see the server’s model.
      </p>
    )}
    <div role="status">{said && <p>{said}</p>}</div>
  </>
);

const NoProjects = () => (
  <Empty title="No projects yet">
    <p>A model belongs to a project: publish an agent first.</p>
    <Link to="/agents/new" className="link">
      New agent
    </Link>
  </Empty>
);
