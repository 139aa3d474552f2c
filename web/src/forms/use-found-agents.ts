/** The agents that the server finds by what is typed, however many there are. */
import { useQuery } from "urql";
import { FindAgentsDocument, type AgentFilter, type FindAgentsQuery } from "../api/documents.ts";
import { useLater } from "../lib/use-later.ts";

export type FoundAgent = NonNullable<FindAgentsQuery["agentsConnection"]>["nodes"][number];

const ASKED_AFTER_MS = 150;
/** The most characters that the server searches by. */
const MAX_CHARACTERS = 200;

export function useFoundAgents(typed: string, filter: Omit<AgentFilter, "text">) {
  const text = useLater(typed.slice(0, MAX_CHARACTERS), ASKED_AFTER_MS);
  const [{ data, error }] = useQuery({
    query: FindAgentsDocument,
    variables: { filter: { ...filter, ...(text && { text }) } },
  });
  const found: readonly FoundAgent[] | undefined = data?.agentsConnection?.nodes;
  return { found, hasMore: data?.agentsConnection?.pageInfo.hasNextPage, error };
}
