/** The versions that were published, newest first: each is compared with the text, or published again. */
import { useState, type ReactNode } from "react";
import { Button } from "@mantine/core";
import { OlderVersionsDocument, PublishVersionDocument, type VersionPageFragment } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { Confirm } from "../../components/confirm.tsx";
import { Older, useOlder } from "../../components/older.tsx";
import { Time } from "../../components/time.tsx";
import classes from "./definition-tab.module.css";

type Props = {
  agentId: string;
  page: VersionPageFragment;
  /** The published one. */
  version: string;
  compared: string | undefined;
  /** The text is another one than the published one. */
  isChanged: boolean;
  mayWrite: boolean;
  onCompare: (version: string | undefined) => void;
  /** With its text. */
  onPublished: (version: string, definition: string) => void;
};

export function Versions({ agentId, page, version, compared, isChanged, mayWrite, onCompare, onPublished }: Props) {
  const { shown, older } = useOlder({
    id: agentId,
    newest: page,
    query: OlderVersionsDocument,
    pageOf: ({ agent }) => agent!.versions,
  });
  const [asked, setAsked] = useState<string>();
  return (
    <section className={classes["versions"]} aria-label="Versions">
      <h2>Versions</h2>
      <ul>
        {shown.map((one) => {
          const isPublished = one.version === version;
          return (
            <VersionLine key={one.id} version={one} isPublished={isPublished}>
              {(isChanged || !isPublished) && (
                <Compare version={one.version} isCompared={compared === one.version} onCompare={onCompare} />
              )}
              {mayWrite && !isPublished && (
                <Button variant="default" size="compact-xs" onClick={() => setAsked(one.version)}>
                  Publish {one.version} again
                </Button>
              )}
            </VersionLine>
          );
        })}
      </ul>
      <Older word="Older versions" older={older} />
      {asked && <PublishAgain {...{ agentId, version, asked, onPublished }} onClose={() => setAsked(undefined)} />}
    </section>
  );
}

type LineProps = { version: VersionPageFragment["nodes"][number]; isPublished: boolean; children: ReactNode };

/** `children`: what can be done with it. */
const VersionLine = ({ version: { version, createdAt, createdBy }, isPublished, children }: LineProps) => (
  <li>
    <strong>{version}</strong> {isPublished && <span>published</span>}
    <span className="dim">
      <Time at={createdAt} />, {createdBy.name}
    </span>
    <span className="line">{children}</span>
  </li>
);

type CompareProps = { version: string; isCompared: boolean; onCompare: Props["onCompare"] };

const Compare = ({ version, isCompared, onCompare }: CompareProps) => (
  <Button
    variant="default"
    size="compact-xs"
    aria-pressed={isCompared}
    onClick={() => onCompare(isCompared ? undefined : version)}
  >
    {isCompared ? "Stop comparing" : `Compare with ${version}`}
  </Button>
);

/** `asked`: the version that replaces the published one. */
type AgainProps = Pick<Props, "agentId" | "version" | "onPublished"> & { asked: string; onClose: () => void };

function PublishAgain({ agentId, version, asked, onPublished, onClose }: AgainProps) {
  const mutate = useMutate();
  const publish = async (): Promise<void> => {
    const { publishAgentVersion } = await mutate(PublishVersionDocument, { input: { agentId, version: asked } });
    onPublished(asked, publishAgentVersion!.definition!);
  };
  return (
    <Confirm title={`Publish ${asked} again?`} verb={`Publish ${asked}`} act={publish} onClose={onClose}>
      <p>
        New runs use {asked} instead of {version}. Runs that have started keep their version, and {version} can be
        published again.
      </p>
    </Confirm>
  );
}
