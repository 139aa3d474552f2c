import { useBlocker } from "@tanstack/react-router";
import { Confirm } from "../../components/confirm.tsx";

type Place = { pathname: string; search: { tab?: string } };
/** `isWithin`: an address of the same text. */
type Props = { isUnsaved: boolean; isWithin?: (next: Place) => boolean };

/** Asks before a text that is saved nowhere is lost. */
export function Leave({ isUnsaved, isWithin }: Props) {
  const leaving = useBlocker({
    shouldBlockFn: ({ next }) => isWithin?.(next as Place) !== true,
    enableBeforeUnload: isUnsaved,
    disabled: !isUnsaved,
    withResolver: true,
  });
  if (leaving.status !== "blocked") return null;
  return (
    <Confirm
      title="Leave without saving?"
      verb="Discard changes"
      act={async () => leaving.proceed()}
      onClose={leaving.reset}
    >
      <p>Your changes to the definition are neither saved as a draft nor published.</p>
    </Confirm>
  );
}
