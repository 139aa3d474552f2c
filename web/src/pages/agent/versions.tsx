/** The versions that were published, newest first: each is compared with the text, or published again. */
import { useState } from "react";
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
  const mutate = useMutate();
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
        {shown.map((one) => (
          <li key={one.id}>
            <strong>{one.version}</strong> {one.version === version && <span>published</span>}
            <span className="dim">
              <Time at={one.createdAt} />, {one.createdBy.name}
            </span>
            <span className="line">
              {(isChanged || one.version !== version) && (
                <Button
                  variant="default"
                  size="compact-xs"
                  aria-pressed={compared === one.version}
                  onClick={() => onCompare(compared === one.version ? undefined : one.version)}
                >
                  {compared === one.version ? "Stop comparing" : `Compare with ${one.version}`}
                </Button>
              )}
              {mayWrite && one.version !== version && (
                <Button variant="default" size="compact-xs" onClick={() => setAsked(one.version)}>
                  Publish {one.version} again
                </Button>
              )}
            </span>
          </li>
        ))}
      </ul>
      <Older word="Older versions" older={older} />
      {asked && (
        <Confirm
          title={`Publish ${asked} again?`}
          verb={`Publish ${asked}`}
          act={async () => {
            const { publishAgentVersion } = await mutate(PublishVersionDocument, {
              input: { agentId, version: asked },
            });
            onPublished(asked, publishAgentVersion!.definition!);
          }}
          onClose={() => setAsked(undefined)}
        >
          <p>
            New runs use {asked} instead of {version}. Runs that have started keep their version, and {version} can be
            published again.
          </p>
        </Confirm>
      )}
    </section>
  );
}
