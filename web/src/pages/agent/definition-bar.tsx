/** Publishes the definition or saves it as a draft, and offers what can be done with a draft. */
import { useState } from "react";
import { Button } from "@mantine/core";
import {
  AgentDefinitionDocument,
  PublishDocument,
  SaveDraftDocument,
  type AgentDefinitionQuery,
} from "../../api/documents.ts";
import { useMutate, useReadAnew } from "../../api/hooks.ts";
import { Refusal } from "../../api/refusal.ts";
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
  const { agent, text, onText, isDraftCompared, onCompareDraft } = props;
  const { draft } = agent;
  const [isDiscarding, setIsDiscarding] = useState(false);
  const saved = useSavedDraft(props);
  const { saving, isConflict, base, save, saveText, open } = saved;
  const { publishing, publish } = usePublishing(props, saved);
  const refusal = publishing.refusal ?? (isConflict ? undefined : saving.refusal);
  return (
    <>
      <Buttons
        {...{ agent, text, publish }}
        isPublishing={publishing.isBusy}
        isSaving={saving.isBusy}
        onSave={() => void saveText(base)}
        openPublished={() => open(null)}
      />
      {refusal && <Problem refusal={refusal} />}
      {isConflict ? (
        <Conflict
          {...{ draft, isDraftCompared, onCompareDraft }}
          isBusy={saving.isBusy}
          onKeep={() => void saveText(draft?.revision ?? 0)}
          onDiscard={() => open(draft)}
        />
      ) : (
        draft && <DraftLine {...{ draft, text }} onOpen={() => open(draft)} onDiscard={() => setIsDiscarding(true)} />
      )}
      {isDiscarding && draft && (
        <Confirm
          title="Discard the draft?"
          verb="Discard draft"
          act={async () => {
            const isOpen = text === draft.definition;
            const published = agent.definition ?? "";
            // A draft equal to the published text does not count.
            await save(published, draft.revision);
            if (isOpen) onText(published);
          }}
          onClose={() => setIsDiscarding(false)}
        >
          <p>It is not saved anywhere else. The published version stays as it is.</p>
        </Confirm>
      )}
    </>
  );
}

type SavedDraft = ReturnType<typeof useSavedDraft>;

/** Which draft the text comes from, and saving it. `isConflict`: somebody else has saved or published since it was opened. */
function useSavedDraft({ agent, text, onText, onCompareDraft, onChanged }: Props) {
  const { id: agentId, draft, definition: published } = agent;
  const mutate = useMutate();
  const readAnew = useReadAnew();
  const saving = useAct();
  /** Revision of the draft that the text comes from; 0: none. A save replaces no other revision. */
  const [base, setBase] = useState(draft?.revision ?? 0);
  const [isConflict, setIsConflict] = useState(false);

  const save = async (definition: string, expectedRevision: number): Promise<void> => {
    const input = { agentId, definition, expectedRevision };
    const { saveAgentDraft } = await mutate(SaveDraftDocument, { input });
    setBase(saveAgentDraft?.draft?.revision ?? 0);
    onCompareDraft(false);
    onChanged();
  };
  const saveText = async (expectedRevision: number): Promise<void> => {
    const isDone = await saving.act(
      async () => {
        try {
          await save(text, expectedRevision);
        } catch (error) {
          // Nothing is offered before theirs is read: until then the page has the draft that they replaced.
          if (isOfConflict(error)) await readAnew(AgentDefinitionDocument, { id: agentId });
          throw error;
        }
      },
      (refusal) => setIsConflict(isOfConflict(refusal)),
    );
    if (isDone) setIsConflict(false);
  };
  /** Goes on with this draft, or with the published text, in place of what was typed. */
  const open = (other: Draft | null): void => {
    setIsConflict(false);
    saving.forget();
    setBase(other?.revision ?? 0);
    if (other) onCompareDraft(false);
    onText(other?.definition ?? published ?? "");
  };
  return { saving, isConflict, base, setBase, save, saveText, open };
}

const isOfConflict = (error: unknown): boolean => error instanceof Refusal && error.reason === "draft_changed";

function usePublishing({ text, onPublished }: Props, { base, setBase, save }: SavedDraft) {
  const mutate = useMutate();
  const publishing = useAct();
  const publish = (): Promise<boolean> =>
    publishing.act(async () => {
      const { publishAgent } = await mutate(PublishDocument, { input: { definition: text } });
      const left = publishAgent!.draft;
      onPublished(publishAgent!.version);
      // The published text came from this draft. A draft that somebody else has saved since stays.
      if (left && left.revision === base) await save(publishAgent!.definition!, base).catch(() => undefined);
      else setBase(left?.revision ?? 0);
    });
  return { publishing, publish };
}

type ButtonsProps = Pick<Props, "agent" | "text"> & {
  isPublishing: boolean;
  isSaving: boolean;
  publish: () => Promise<boolean>;
  onSave: () => void;
  openPublished: () => void;
};

function Buttons({ agent, text, isPublishing, isSaving, publish, onSave, openPublished }: ButtonsProps) {
  const { version, draft } = agent;
  const published = agent.definition ?? "";
  const isSaved = text === draft?.definition;
  return (
    <div className={classes["bar"]}>
      {text === published ? (
        <span className="dim">Published version {version}. Edit it to make a draft.</span>
      ) : (
        <Button size="compact-md" loading={isPublishing} onClick={() => void publish()}>
          Publish
        </Button>
      )}
      {text !== published && !isSaved && (
        <Button size="compact-md" variant="default" loading={isSaving} onClick={onSave}>
          Save as draft
        </Button>
      )}
      {text !== published && published !== "" && isSaved && (
        <Button size="compact-md" variant="default" onClick={openPublished}>
          Show the published version
        </Button>
      )}
    </div>
  );
}

type DraftLineProps = { draft: Draft; text: string; onOpen: () => void; onDiscard: () => void };

const DraftLine = ({ draft, text, onOpen, onDiscard }: DraftLineProps) => (
  <p className={classes["bar"]}>
    <span className="dim">
      {text === draft.definition ? "This draft is not published" : "There is an unpublished draft"}, saved{" "}
      <Time at={draft.savedAt} /> by {draft.savedBy.name}.
    </span>
    {text !== draft.definition && (
      <Button variant="default" size="compact-sm" onClick={onOpen}>
        Open the draft
      </Button>
    )}
    <Button variant="default" size="compact-sm" onClick={onDiscard}>
      Discard draft…
    </Button>
  </p>
);

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
          "The draft that you started from has since been published or discarded. Yours is not saved."
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
        “Keep mine” replaces theirs with yours; “Discard draft” drops yours and goes on with{" "}
        {draft ? "theirs" : "the published version"}.
      </p>
    </section>
  );
}
