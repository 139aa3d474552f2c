/** Publishes the definition or saves it as a draft, and offers what can be done with a draft. */
import { useState } from "react";
import { Button } from "@mantine/core";
import { PublishDocument, SaveDraftDocument, type AgentDefinitionQuery } from "../../api/documents.ts";
import { Refusal } from "../../api/refusal.ts";
import { useMutate } from "../../api/hooks.ts";
import { useAct } from "../../api/use-act.ts";
import { Confirm } from "../../components/confirm.tsx";
import { Problem } from "../../components/notice.tsx";
import { Time } from "../../components/time.tsx";
import classes from "./definition-tab.module.css";

export type DefinedAgent = NonNullable<AgentDefinitionQuery["agent"]>;
type Draft = NonNullable<DefinedAgent["draft"]>;

type Props = {
  agent: DefinedAgent;
  text: string;
  /** Puts another text into the editor. */
  onText: (text: string) => void;
  isDraftCompared: boolean;
  onCompareDraft: (isCompared: boolean) => void;
  onChanged: () => void;
  onPublished: (version: string) => void;
};

export function DefinitionBar(props: Props) {
  const { agent, text, onText, isDraftCompared, onCompareDraft, onChanged, onPublished } = props;
  const { id: agentId, version, draft } = agent;
  const published = agent.definition ?? "";
  const mutate = useMutate();
  const publishing = useAct();
  const saving = useAct();
  /** Revision of the draft that the text comes from; 0: none. A save replaces no other revision. */
  const [known, setKnown] = useState(draft?.revision ?? 0);
  const [isDiscarding, setIsDiscarding] = useState(false);
  const [isConflict, setIsConflict] = useState(false);
  const refusal = publishing.refusal ?? (isConflict ? undefined : saving.refusal);

  const save = async (definition: string, expectedRevision: number): Promise<void> => {
    const input = { agentId, definition, expectedRevision };
    const { saveAgentDraft } = await mutate(SaveDraftDocument, { input });
    setKnown(saveAgentDraft?.draft?.revision ?? 0);
    onCompareDraft(false);
    onChanged();
  };
  const saveOver = async (definition: string, expectedRevision: number): Promise<void> => {
    const isDone = await saving.act(async () => {
      try {
        await save(definition, expectedRevision);
        setIsConflict(false);
      } catch (error) {
        setIsConflict(error instanceof Refusal && error.reason === "draft_changed");
        throw error;
      }
    });
    // Reads the other draft, to show it.
    if (!isDone) onChanged();
  };
  const publish = async (): Promise<void> => {
    const { publishAgent } = await mutate(PublishDocument, { input: { definition: text } });
    const left = publishAgent!.draft;
    onPublished(publishAgent!.version);
    // The published text came from this draft. A draft that somebody else has saved since stays.
    if (left && left.revision === known) await save(publishAgent!.definition!, known).catch(() => undefined);
    else setKnown(left?.revision ?? 0);
  };
  const openDraft = (one: Draft): void => {
    setKnown(one.revision);
    onCompareDraft(false);
    onText(one.definition);
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
        {text !== published && text !== draft?.definition && (
          <Button
            size="compact-md"
            variant="default"
            loading={saving.isBusy}
            onClick={() => void saveOver(text, known)}
          >
            Save as draft
          </Button>
        )}
        {text !== published && published !== "" && text === draft?.definition && (
          <Button
            size="compact-md"
            variant="default"
            onClick={() => {
              setKnown(0);
              onText(published);
            }}
          >
            Show what is published
          </Button>
        )}
      </div>
      {refusal && <Problem refusal={refusal} />}
      {isConflict ? (
        <Conflict
          {...{ draft, isDraftCompared, onCompareDraft }}
          isBusy={saving.isBusy}
          onKeep={() => void saveOver(text, draft?.revision ?? 0)}
          onDiscard={() => {
            setIsConflict(false);
            saving.forget();
            if (draft) openDraft(draft);
            else {
              setKnown(0);
              onText(published);
            }
          }}
        />
      ) : (
        draft && (
          <p className={classes["bar"]}>
            <span className="dim">
              {text === draft.definition
                ? "This is a draft that is not published"
                : "There is a draft that is not published"}
              , saved <Time at={draft.savedAt} /> by {draft.savedBy.name}.
            </span>
            {text !== draft.definition && (
              <Button variant="default" size="compact-sm" onClick={() => openDraft(draft)}>
                Open the draft
              </Button>
            )}
            <Button variant="default" size="compact-sm" onClick={() => setIsDiscarding(true)}>
              Discard draft…
            </Button>
          </p>
        )
      )}
      {isDiscarding && draft && (
        <Confirm
          title="Discard the draft?"
          verb="Discard draft"
          act={async () => {
            const isOpen = text === draft.definition;
            // A draft equal to the published text does not count.
            await save(published, draft.revision);
            if (isOpen) onText(published);
          }}
          onClose={() => setIsDiscarding(false)}
        >
          <p>It is saved nowhere else. What is published stays as it is.</p>
        </Confirm>
      )}
    </>
  );
}

type ConflictProps = {
  /** The draft as it is saved now. */
  draft: Draft | null;
  isBusy: boolean;
  onKeep: () => void;
  onDiscard: () => void;
} & Pick<Props, "isDraftCompared" | "onCompareDraft">;

/** Asks what to do when somebody else has saved or published in the meantime: neither text is lost until the user decides. */
function Conflict({ draft, isBusy, isDraftCompared, onCompareDraft, onKeep, onDiscard }: ConflictProps) {
  return (
    <section role="alert" aria-label="Conflict" className={classes["conflict"]}>
      <p>
        {draft ? (
          <>
            {draft.savedBy.name} saved another draft <Time at={draft.savedAt} />. Yours is not saved.
          </>
        ) : (
          "The draft that you began with was published or discarded meanwhile. Yours is not saved."
        )}
      </p>
      <span className="line">
        {draft && (
          <Button
            variant="default"
            size="compact-sm"
            aria-pressed={isDraftCompared}
            onClick={() => onCompareDraft(!isDraftCompared)}
          >
            {isDraftCompared ? "Hide theirs" : "Show theirs"}
          </Button>
        )}
        <Button variant="default" size="compact-sm" loading={isBusy} onClick={onKeep}>
          Keep mine
        </Button>
        <Button variant="default" size="compact-sm" disabled={isBusy} onClick={onDiscard}>
          Discard draft
        </Button>
      </span>
      <p className="dim">
        “Keep mine” saves yours over theirs; “Discard draft” gives up yours and goes on with{" "}
        {draft ? "theirs" : "what is published"}.
      </p>
    </section>
  );
}
