import { useQuery } from "urql";
import { FrameDocument } from "./documents.ts";

/** The person who is signed in, as assignees name them. */
export type Me = { id: string; email: string; role: string };

/** The rights of the caller's role, from the answer that the frame has already; nothing until it is there. */
export function useMay(): { may: (scope: string) => boolean; role: string | null; me: Me | undefined } {
  const [{ data }] = useQuery({ query: FrameDocument });
  const { scopes = [], role = null, user } = data?.caller ?? {};
  const email = user?.email;
  const me = user && email && role ? { id: user.id, email, role } : undefined;
  return { may: (scope) => scopes.includes(scope), role, me };
}
