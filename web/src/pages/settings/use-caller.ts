import { FrameDocument, type FrameQuery } from "../../api/documents.ts";
import { useRead } from "../../api/hooks.ts";

type Known = NonNullable<FrameQuery["caller"]>;
export type Caller = Pick<Known, "user" | "role" | "memberships"> & {
  organization: NonNullable<FrameQuery["organization"]>;
  may: (scope: string) => boolean;
  /** After what may have changed it. */
  readAgain: () => void;
};

/** Who asks, from the answer that the frame has already; undefined until it is there. */
export function useCaller(): Caller | undefined {
  const [{ data }, readAgain] = useRead({ query: FrameDocument });
  if (!data?.caller || !data.organization) return undefined;
  const { user, role, memberships, scopes } = data.caller;
  return {
    user,
    role,
    memberships,
    organization: data.organization,
    may: (scope) => scopes.includes(scope),
    readAgain,
  };
}
