/** Shows on every page the decisions that are not sent yet. Each can be taken back. */
import { useSyncExternalStore } from "react";
import { Button } from "@mantine/core";
import { useNavigate, useRouter } from "@tanstack/react-router";
import { VERBS, type Made } from "../../api/decisions.ts";
import { useApi } from "../../api/hooks.ts";
import { useKeys } from "../../lib/use-keys.ts";
import { useNow } from "../../lib/use-now.ts";
import { Problem } from "../notice.tsx";
import classes from "./decisions-bar.module.css";

const TICK_MS = 250;

export function DecisionsBar() {
  const { decisions } = useApi();
  const all = useSyncExternalStore(decisions.all.watch, decisions.all.get);
  const open = useOpenApproval();
  const undo = (id: string): void => {
    if (decisions.undo(id)) open(id);
  };
  const undoLast = (): void => {
    const id = decisions.undoLast();
    if (id !== undefined) open(id);
  };
  useKeys(all.length > 0 ? { u: undoLast } : {});
  return (
    <section aria-label="Decisions" className={classes["bar"]} hidden={all.length === 0}>
      <div role="status">
        <ul className={classes["lines"]}>
          {all.map((made, index) => (
            <li key={made.input.approvalId} className={classes["line"]}>
              {made.refusal ? (
                <Refused made={made} onDismiss={() => decisions.dismiss(made.input.approvalId)} />
              ) : (
                <Waiting made={made} isLast={index === all.length - 1} onUndo={() => undo(made.input.approvalId)} />
              )}
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

/** Its card again, where the list is; elsewhere it is on the page, or one has gone on. */
function useOpenApproval(): (id: string) => void {
  const router = useRouter();
  const navigate = useNavigate();
  return (open) => {
    const { pathname } = router.state.location;
    if (pathname === "/approvals")
      void navigate({
        to: "/approvals",
        search: ({ show }: { show?: unknown }) => ({ ...(show === "mine" && { show: "mine" as const }), open }),
        replace: true,
        resetScroll: false,
      });
  };
}

function Waiting({ made, isLast, onUndo }: { made: Made; isLast: boolean; onUndo: () => void }) {
  const { input, question, dueAt, isSending } = made;
  const now = useNow(isSending ? undefined : TICK_MS);
  const { now: verb } = VERBS[input.decision];
  return (
    <>
      <span className={classes["said"]}>
        {verb} {/* Said once, not each second. */}
        {!isSending && <span aria-hidden="true">in {Math.max(1, Math.ceil((dueAt - now) / 1_000))} s </span>}
        <span className={classes["question"]}>{question}</span>
      </span>
      {!isSending && (
        <Button
          size="compact-sm"
          variant="default"
          onClick={onUndo}
          rightSection={
            isLast && (
              <kbd className={classes["key"]} aria-hidden="true">
                u
              </kbd>
            )
          }
        >
          Undo
        </Button>
      )}
    </>
  );
}

function Refused({ made: { input, question, refusal }, onDismiss }: { made: Made; onDismiss: () => void }) {
  const navigate = useNavigate();
  return (
    <>
      <span className={classes["said"]}>
        Not {VERBS[input.decision].was}: <span className={classes["question"]}>{question}</span>
        <Problem refusal={refusal!} />
      </span>
      <span className="line">
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => {
            onDismiss();
            void navigate({ to: "/approvals", search: { open: input.approvalId } });
          }}
        >
          Open it again
        </Button>
        <Button size="compact-sm" variant="subtle" onClick={onDismiss}>
          Dismiss
        </Button>
      </span>
    </>
  );
}
