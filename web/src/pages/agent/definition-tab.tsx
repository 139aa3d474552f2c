/** The agent's text: changed with its problems in the margin, published, compared with an older version, taken back. */
import { lazy, Suspense, useState, type ReactNode } from "react";
import { Skeleton } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { AgentDefinitionDocument, AgentVersionTextDocument } from "../../api/documents.ts";
import { useRead } from "../../api/hooks.ts";
import { refusalIn } from "../../api/refusal.ts";
import { Loading } from "../../components/loading.tsx";
import { Problem, TryAgain } from "../../components/notice.tsx";
import { DefinitionBar, type DefinedAgent } from "./definition-bar.tsx";
import { DefinitionText } from "./definition-text.tsx";
import classes from "./definition-tab.module.css";
import { Leave } from "./leave.tsx";
import { Versions } from "./versions.tsx";

// Nearly all of it is the editor.
const Difference = lazy(async () => ({ default: (await import("./difference.tsx")).Difference }));

/** `compared`: the version that stands beside the text, or `draft`. */
type Props = { agentId: string; compared: string | undefined; mayWrite: boolean };

export function DefinitionTab({ agentId, compared, mayWrite }: Props) {
  const [{ data, error }, readAgain] = useRead({
    query: AgentDefinitionDocument,
    variables: { id: agentId },
    // The text that one begins to change must not be older than what others have saved.
    requestPolicy: "network-only",
  });
  if (error && !data) return <Problem refusal={refusalIn(error)} action={<TryAgain onClick={readAgain} />} />;
  if (!data?.agent) return <Loading label="Loading the definition" lines={12} />;
  return <Loaded agent={data.agent} compared={compared} mayWrite={mayWrite} onChanged={readAgain} />;
}

type LoadedProps = Pick<Props, "compared" | "mayWrite"> & { agent: DefinedAgent; onChanged: () => void };

/** Stands for the saved draft where a version would stand. */
const DRAFT = "draft";

function Loaded({ agent, compared, mayWrite, onChanged }: LoadedProps) {
  const { id, draft, version } = agent;
  const published = agent.definition ?? "";
  const [told, setTold] = useState("");
  const { text, key, change, replace } = useText(draft?.definition ?? published);
  const compare = useCompare(id);
  const isSaved = text === published || text === draft?.definition;
  const tellPublished = (which: string): void => {
    setTold(`${which} is published: runs that start from now on use it.`);
    onChanged();
  };
  return (
    <>
      <p role="status" className={classes["told"]}>
        {told}
      </p>
      <div className={classes["tab"]}>
        <Leave
          isUnsaved={!isSaved}
          isWithin={({ pathname, search }) => pathname === `/agents/${id}` && search.tab === "definition"}
        />
        <div className={classes["text"]}>
          {mayWrite ? (
            <DefinitionBar
              {...{ agent, text }}
              onText={replace}
              onCompareDraft={(isCompared) => compare(isCompared ? DRAFT : undefined)}
              isDraftCompared={compared === DRAFT}
              onChanged={onChanged}
              onPublished={tellPublished}
            />
          ) : (
            <p className="dim">You may read the definition, but not change it. Owners, admins and editors may.</p>
          )}
          <BesideCompared {...{ agent, compared, text }}>
            <DefinitionText key={key} text={text} isReadOnly={!mayWrite} onChange={change} />
          </BesideCompared>
        </div>
        <Versions
          agentId={id}
          page={agent.versions}
          version={version}
          compared={compared}
          isChanged={text !== published}
          mayWrite={mayWrite}
          onCompare={compare}
          onPublished={(other, definition) => {
            compare(undefined);
            // Keep what the user has changed.
            if (isSaved) replace(definition);
            tellPublished(other);
          }}
        />
      </div>
    </>
  );
}

/** The text in the editor. A new text needs a new editor. */
function useText(initial: string) {
  const [{ text, key }, set] = useState({ text: initial, key: 0 });
  return {
    text,
    key,
    change: (next: string): void => set((before) => ({ ...before, text: next })),
    replace: (next: string): void => set((before) => ({ text: next, key: before.key + 1 })),
  };
}

/** Puts a version beside the text, or `draft`, or nothing. */
function useCompare(agentId: string) {
  const navigate = useNavigate();
  return (other: string | undefined): void =>
    void navigate({
      to: "/agents/$agentId",
      params: { agentId },
      search: { tab: "definition", ...(other && { compare: other }) },
      replace: true,
      resetScroll: false,
    });
}

type BesideProps = { agent: DefinedAgent; compared: string | undefined; text: string; children: ReactNode };

/** The text beside the one that it is compared with, in place of the editor, which is `children`. */
function BesideCompared({ agent: { id, draft }, compared, text, children }: BesideProps) {
  if (!compared || (compared === DRAFT && !draft)) return children;
  return (
    <Suspense fallback={<Skeleton height={400} />}>
      {compared === DRAFT ? (
        <Difference version="The saved draft" before={draft!.definition} after={text} />
      ) : (
        <BesideVersion agentId={id} version={compared} text={text} />
      )}
    </Suspense>
  );
}

function BesideVersion({ agentId, version, text }: { agentId: string; version: string; text: string }) {
  const [{ data, error }, readAgain] = useRead({
    query: AgentVersionTextDocument,
    variables: { id: agentId, version },
  });
  if (error) return <Problem refusal={refusalIn(error)} action={<TryAgain onClick={readAgain} />} />;
  if (!data) return <Loading label="Loading the version" lines={12} />;
  return <Difference version={version} before={data.agent?.agentVersion?.definition ?? ""} after={text} />;
}
