/** Writes an agent's first definition, in a project that is there or is made here. */
import { useState } from "react";
import { Button } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { CreateProjectDocument, FrameDocument, PublishDocument, SaveDraftDocument } from "../../api/documents.ts";
import { useMutate, useRead } from "../../api/hooks.ts";
import { refusalIn } from "../../api/refusal.ts";
import { useAct } from "../../api/use-act.ts";
import { useMay } from "../../api/use-may.ts";
import { Loading } from "../../components/loading.tsx";
import { NoPermission, Problem, TryAgain } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { CredentialsForm, type TextField } from "../../forms/credentials-form.tsx";
import classes from "./definition-tab.module.css";
import { DefinitionText } from "./definition-text.tsx";
import { Leave } from "./leave.tsx";

/** Small, and it runs. */
const beginningOf = (namespace: string): string => `document:
  dsl: "1.0.3"
  namespace: ${namespace}
  name: my-agent
  version: "1.0.0"
  title: My agent
  summary: Greets a person by name.
input:
  schema:
    format: json
    document:
      type: object
      properties:
        who:
          type: string
          title: Who
          default: world
do:
  - greet:
      set:
        greeting: \${ "Hello, " + $workflow.input.who + "!" }
`;

/** `project`: the id of the one that is chosen in the frame. */
export function NewAgent({ project }: { project: string | undefined }) {
  return (
    <div className="stack">
      <PageHead path={[{ word: "Agents", to: "/agents", search: {} }]} title="New agent" />
      <Content project={project} />
    </div>
  );
}

function Content({ project }: { project: string | undefined }) {
  const [{ data, error }, readAgain] = useRead({ query: FrameDocument });
  const { may, role } = useMay();
  const [made, setMade] = useState<string>();
  const [isMaking, setIsMaking] = useState(false);
  if (error && !data) return <Problem refusal={refusalIn(error)} action={<TryAgain onClick={readAgain} />} />;
  if (!data) return <Loading label="Loading the projects" lines={12} />;
  if (!may("agents:write")) return <NoPermission what="create agents" who="Owners, admins and editors" role={role} />;
  const projects = data.projects?.nodes ?? [];
  const chosen = projects.find(({ id }) => id === project) ?? projects[0];
  const namespace = made ?? chosen?.handle;
  if (namespace === undefined || isMaking)
    return (
      <NewProject
        isFirst={namespace === undefined}
        onMade={(handle) => {
          setMade(handle);
          setIsMaking(false);
          readAgain();
        }}
        // It may be there all the same: made by a colleague, or by a try whose answer was lost.
        onRefused={readAgain}
        onCancel={() => setIsMaking(false)}
      />
    );
  return <Write key={namespace} namespace={namespace} onProject={() => setIsMaking(true)} />;
}

const PROJECT: readonly TextField<"name" | "handle">[] = [
  { name: "name", label: "Name", autoComplete: "off", hint: "What its agents are for, such as Billing." },
  {
    name: "handle",
    label: "Handle",
    autoComplete: "off",
    hint: "a-z, 0-9 and -, such as billing: the namespace in the definitions of its agents.",
  },
];

type NewProjectProps = {
  isFirst: boolean;
  onMade: (handle: string) => void;
  onRefused: () => void;
  onCancel: () => void;
};

function NewProject({ isFirst, onMade, onRefused, onCancel }: NewProjectProps) {
  const mutate = useMutate();
  return (
    <section className="stack" aria-labelledby="new-project">
      <h2 id="new-project">{isFirst ? "First, a project" : "New project"}</h2>
      <p className="dim">
        A project holds agents that belong together, and their secrets. An API key can be narrowed to it.
      </p>
      <div className={classes["project"]}>
        <CredentialsForm
          fields={PROJECT}
          verb="Create project"
          send={async (input) => {
            await mutate(CreateProjectDocument, { input }).catch((error: unknown) => {
              onRefused();
              throw error;
            });
            onMade(input.handle);
          }}
        />
      </div>
      {!isFirst && (
        <Button variant="default" w="fit-content" onClick={onCancel}>
          Cancel
        </Button>
      )}
    </section>
  );
}

/** Once it is changed it stays in its project, or the change would be lost. */
function Write({ namespace, onProject }: { namespace: string; onProject: () => void }) {
  const beginning = beginningOf(namespace);
  const [text, setText] = useState(beginning);
  const mutate = useMutate();
  const navigate = useNavigate();
  const publishing = useAct();
  const saving = useAct();
  const refusal = publishing.refusal ?? saving.refusal;
  const open = (id: string, tab?: "definition"): Promise<void> =>
    navigate({ to: "/agents/$agentId", params: { agentId: id }, search: tab ? { tab } : {}, ignoreBlocker: true });
  const publish = async (): Promise<void> => {
    const { publishAgent } = await mutate(PublishDocument, { input: { definition: text } });
    await open(publishAgent!.id);
  };
  const save = async (): Promise<void> => {
    const { saveAgentDraft } = await mutate(SaveDraftDocument, {
      input: { definition: text, expectedRevision: 0 },
    });
    await open(saveAgentDraft!.id, "definition");
  };
  return (
    <div className={classes["text"]}>
      <Leave isUnsaved={text !== beginning} />
      <p className="dim">
        A definition says what the agent takes and what it does, step by step. <code>docs/definitions.md</code> has all
        of it; what is wrong is marked as you type.
      </p>
      <div className={classes["bar"]}>
        <Button size="compact-md" loading={publishing.isBusy} onClick={() => void publishing.act(publish)}>
          Publish
        </Button>
        <Button size="compact-md" variant="default" loading={saving.isBusy} onClick={() => void saving.act(save)}>
          Save as draft
        </Button>
        <Button size="compact-md" variant="subtle" disabled={text !== beginning} onClick={onProject}>
          In a new project
        </Button>
      </div>
      {refusal && <Problem refusal={refusal} />}
      <DefinitionText text={beginning} onChange={setText} />
    </div>
  );
}
