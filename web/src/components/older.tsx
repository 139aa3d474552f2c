/** A list whose newest come by themselves, and whose older ones are read when somebody asks for them. */
import { useState } from "react";
import { Button } from "@mantine/core";
import type { TypedDocumentNode } from "@urql/core";
import { useClient } from "urql";
import { refusalIn, type Refusal } from "../api/refusal.ts";
import { useAct } from "../api/use-act.ts";
import { Problem } from "./notice.tsx";

type Page<Item> = { nodes: readonly Item[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } };

type Listed<Item, Data> = {
  /** The kind of the list's items. */
  id: string;
  newest: Page<Item>;
  query: TypedDocumentNode<Data, { id: string; after?: string | null }>;
  pageOf: (data: Data) => Page<Item>;
};

export type OlderOnes = { isThere: boolean; isBusy: boolean; refusal: Refusal | undefined; read: () => void };

/** `shown`: the newest, and those that were asked for. */
export function useOlder<Item extends { id: string }, Data>({ id, newest, query, pageOf }: Listed<Item, Data>) {
  const client = useClient();
  const { act, isBusy, refusal } = useAct();
  const [read, setRead] = useState<Page<Item>>();
  const first = new Set(newest.nodes.map((one) => one.id));
  const shown = [...newest.nodes, ...(read?.nodes.filter((one) => !first.has(one.id)) ?? [])];
  // The first time from the newest on, more than stand here: some may have been pushed out of these.
  const readOlder = async (): Promise<void> => {
    const after = read?.pageInfo.endCursor ?? null;
    const { data, error } = await client.query(query, { id, after }).toPromise();
    if (error) throw refusalIn(error);
    const { nodes, pageInfo } = pageOf(data!);
    setRead({ nodes: [...(read?.nodes ?? []), ...nodes], pageInfo });
  };
  const { hasNextPage } = (read ?? newest).pageInfo;
  const older: OlderOnes = { isThere: hasNextPage, isBusy, refusal, read: () => void act(readOlder) };
  return { shown, older, isFirst: read === undefined };
}

export const Older = ({ word, older: { isThere, isBusy, refusal, read } }: { word: string; older: OlderOnes }) => (
  <>
    {refusal && <Problem refusal={refusal} />}
    {isThere && (
      <Button variant="subtle" size="compact-sm" loading={isBusy} onClick={read}>
        {word}
      </Button>
    )}
  </>
);
