import { useQuery } from "urql";
import { FrameDocument } from "./documents.ts";

/** The rights of the caller's role, from the answer that the frame has already; nothing until it is there. */
export function useMay(): { may: (scope: string) => boolean; role: string | null } {
  const [{ data }] = useQuery({ query: FrameDocument });
  const { scopes = [], role = null } = data?.caller ?? {};
  return { may: (scope) => scopes.includes(scope), role };
}
