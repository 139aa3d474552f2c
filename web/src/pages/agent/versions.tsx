/** The versions that were published, newest first: each is compared with the text, or published again. */
import { useState } from "react";
import { Button } from "@mantine/core";
import { useClient } from "urql";
import { OlderVersionsDocument, PublishVersionDocument, type VersionPageFragment } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { refusalIn } from "../../api/refusal.ts";
import { useAct } from "../../api/use-act.ts";
import { Confirm } from "../../components/confirm.tsx";
import { Problem } from "../../components/notice.tsx";
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
  onPublished: (version: string) => void;
};

export function Versions({ agentId, page, version, compared, isChanged, mayWrite, onCompare, onPublished }: Props) {
  const client = useClient();
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  const [older, setOlder] = useState<VersionPageFragment>();
  const [asked, setAsked] = useState<string>();
  const { hasNextPage, endCursor } = (older ?? page).pageInfo;
  const readOlder = (after: string): Promise<boolean> =>
    act(async () => {
      const { data, error } = await client.query(OlderVersionsDocument, { id: agentId, after }).toPromise();
      if (error) throw refusalIn(error);
      const { nodes, pageInfo } = data!.agent!.versions;
      setOlder({ nodes: [...(older?.nodes ?? []), ...nodes], pageInfo });
    });
  return (
    <section className={classes["versions"]} aria-label="Versions">
      <h2>Versions</h2>
      <ul>
        {[...page.nodes, ...(older?.nodes ?? [])].map((one) => (
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
      {refusal && <Problem refusal={refusal} />}
      {hasNextPage && endCursor && (
        <Button variant="subtle" size="compact-sm" loading={isBusy} onClick={() => void readOlder(endCursor)}>
          Older versions
        </Button>
      )}
      {asked && (
        <Confirm
          title={`Publish ${asked} again?`}
          verb={`Publish ${asked}`}
          act={async () => {
            await mutate(PublishVersionDocument, { input: { agentId, version: asked } });
            onPublished(asked);
          }}
          onClose={() => setAsked(undefined)}
        >
          <p>
            Runs that start from now on are of {asked} instead of {version}. Those that have started stay with theirs,
            and {version} can be published again.
          </p>
        </Confirm>
      )}
    </section>
  );
}
