/** The agent's text: changed with its problems in the margin, published, compared with an older version, taken back. */
import { lazy, Suspense, useState } from "react";
import { Button, Skeleton } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import {
  AgentDefinitionDocument,
  AgentVersionTextDocument,
  PublishDocument,
  SaveDraftDocument,
  type AgentDefinitionQuery,
} from "../../api/documents.ts";
import { useMutate, useRead } from "../../api/hooks.ts";
import { refusalIn } from "../../api/refusal.ts";
import { useAct } from "../../api/use-act.ts";
import { Loading } from "../../components/loading.tsx";
import { Problem, TryAgain } from "../../components/notice.tsx";
import { DefinitionText } from "./definition-text.tsx";
import classes from "./definition-tab.module.css";
import { Leave } from "./leave.tsx";
import { Versions } from "./versions.tsx";

// Nearly all of it is the editor.
const Difference = lazy(async () => ({ default: (await import("./difference.tsx")).Difference }));

type Agent = NonNullable<AgentDefinitionQuery["agent"]>;

/** `compared`: the version that stands beside the text. */
type Props = { agentId: string; compared: string | undefined; mayWrite: boolean };

export function DefinitionTab({ agentId, compared, mayWrite }: Props) {
  const [{ data, error }, readAgain] = useRead({
    query: AgentDefinitionDocument,
    variables: { id: agentId },
    // What one begins to change must not be older than what others have saved.
    requestPolicy: "network-only",
  });
  const [told, setTold] = useState("");
  if (error && !data) return <Problem refusal={refusalIn(error)} action={<TryAgain onClick={readAgain} />} />;
  if (!data?.agent) return <Loading label="Loading the definition" lines={12} />;
  const published = (version: string): void => {
    setTold(`${version} is published: runs that start from now on are of it.`);
    readAgain();
  };
  return (
    <>
      <p role="status" className={classes["told"]}>
        {told}
      </p>
      <Loaded
        key={data.agent.version}
        agent={data.agent}
        compared={compared}
        mayWrite={mayWrite}
        onSaved={readAgain}
        onPublished={published}
      />
    </>
  );
}

type LoadedProps = Pick<Props, "compared" | "mayWrite"> & {
  agent: Agent;
  onSaved: () => void;
  onPublished: (version: string) => void;
};

function Loaded({ agent, compared, mayWrite, onSaved, onPublished }: LoadedProps) {
  const { id, definition, draft, version } = agent;
  const navigate = useNavigate();
  const before = definition ?? "";
  const [text, setText] = useState(draft?.definition ?? before);
  const compare = (other: string | undefined): void =>
    void navigate({
      to: "/agents/$agentId",
      params: { agentId: id },
      search: { tab: "definition", ...(other && { compare: other }) },
      replace: true,
      resetScroll: false,
    });
  return (
    <div className={classes["tab"]}>
      <Leave
        isUnsaved={text !== (draft?.definition ?? before)}
        isWithin={({ pathname, search }) => pathname === `/agents/${id}` && search.tab === "definition"}
      />
      <div className={classes["text"]}>
        {mayWrite ? (
          <Bar agent={agent} text={text} onSaved={onSaved} onPublished={onPublished} />
        ) : (
          <p className="dim">You may read the definition, but not change it. Owners, admins and editors may.</p>
        )}
        {compared ? (
          <Suspense fallback={<Skeleton height={400} />}>
            <Compared agentId={id} version={compared} text={text} />
          </Suspense>
        ) : (
          <DefinitionText text={text} isReadOnly={!mayWrite} onChange={setText} />
        )}
      </div>
      <Versions
        agentId={id}
        page={agent.versions}
        version={version}
        compared={compared}
        isChanged={text !== before}
        mayWrite={mayWrite}
        onCompare={compare}
        onPublished={(other) => {
          compare(undefined);
          onPublished(other);
        }}
      />
    </div>
  );
}

type BarProps = Pick<LoadedProps, "agent" | "onSaved" | "onPublished"> & { text: string };

/** What may be done with the text as it stands: nothing until it is another one. */
function Bar({ agent: { id, definition, draft, version }, text, onSaved, onPublished }: BarProps) {
  const mutate = useMutate();
  const publishing = useAct();
  const saving = useAct();
  const [revision, setRevision] = useState(draft?.revision ?? 0);
  const published = definition ?? "";
  const refusal = publishing.refusal ?? saving.refusal;
  const save = async (): Promise<void> => {
    const { saveAgentDraft } = await mutate(SaveDraftDocument, {
      input: { agentId: id, definition: text, expectedRevision: revision },
    });
    setRevision(saveAgentDraft?.draft?.revision ?? 0);
    onSaved();
  };
  const publish = async (): Promise<void> => {
    const { publishAgent } = await mutate(PublishDocument, { input: { definition: text } });
    onPublished(publishAgent!.version);
  };
  return (
    <>
      <div className={classes["bar"]}>
        {text === published ? (
          <span className="dim">Published version {version}. Edit it to make a draft.</span>
        ) : (
          <Button size="compact-md" loading={publishing.isBusy} onClick={() => void publishing.act(publish)}>
            Publish
          </Button>
        )}
        {text !== (draft?.definition ?? published) && (
          <Button size="compact-md" variant="default" loading={saving.isBusy} onClick={() => void saving.act(save)}>
            Save as draft
          </Button>
        )}
        {draft && <span className="dim">There is a draft that is not published.</span>}
      </div>
      {refusal && <Problem refusal={refusal} />}
    </>
  );
}

function Compared({ agentId, version, text }: { agentId: string; version: string; text: string }) {
  const [{ data, error }, readAgain] = useRead({
    query: AgentVersionTextDocument,
    variables: { id: agentId, version },
  });
  if (error) return <Problem refusal={refusalIn(error)} action={<TryAgain onClick={readAgain} />} />;
  if (!data) return <Loading label="Loading the version" lines={12} />;
  return <Difference version={version} before={data.agent?.agentVersion?.definition ?? ""} after={text} />;
}
