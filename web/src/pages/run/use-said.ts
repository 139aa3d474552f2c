import { SaidDocument } from "../../api/documents.ts";
import { useRead } from "../../api/hooks.ts";

type Said = { input: unknown; output: unknown };

/** A step's input and output, once they are there. The input stays as it was when the step began. */
export function useSaid({ id }: { id: string }, isThere: boolean) {
  const [{ data, error }, readAgain] = useRead({ query: SaidDocument, variables: { id }, pause: !isThere });
  const said = (data?.node ?? undefined) as Said | undefined;
  return [{ data: said, error }, readAgain] as const;
}
