import { useState, useSyncExternalStore } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Button, Menu } from "@mantine/core";
import {
  CancelRunDocument,
  RerunRunDocument,
  RetryRunDocument,
  type RunHeadFragment,
  type RunStatus,
} from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { useAct } from "../../api/use-act.ts";
import { useMay } from "../../api/use-may.ts";
import { EndInPlace } from "../../components/end-in-place.tsx";
import { Icon, SHAPES } from "../../components/icon.tsx";
import { Problem } from "../../components/notice.tsx";
import { useOnScreen } from "../../components/palette/on-screen.ts";
import { shortName } from "../../lib/ids.ts";
import { nameOf } from "./rows.ts";
import type { RunView } from "./run-view.ts";
import { FINAL } from "./use-run-view.ts";
import classes from "./run.module.css";

/** `chosenStep`: the number of the one that is being looked at. */
type Props = { run: RunHeadFragment; view: RunView; chosenStep: number | undefined };
type Start = "again" | "edit" | "retry" | "from";

/** The one table of the actions that start a run again, by this run's status. An open run can be cancelled. */
const STARTS: Record<RunStatus, readonly Start[]> = {
  pending: [],
  running: [],
  paused: [],
  completed: ["again", "edit", "from"],
  failed: ["retry", "again", "edit", "from"],
  cancelled: ["retry", "again", "edit", "from"],
};

/** The ways to run it again, once it has ended. */
export function Starts(props: Props) {
  const { act, isBusy, refusal } = useAct();
  const ways = useWays(props);
  useOnScreen(ways.map(({ word, start }) => ({ word, act: () => act(start) })));
  const [first, ...others] = ways;
  if (!first) return null;
  return (
    <>
      {refusal && <Problem refusal={refusal} />}
      <Button.Group className={classes["starts"]}>
        <Button size="compact-md" loading={isBusy} onClick={() => void act(first.start)}>
          <span className={classes["main-action"]}>{first.word}</span>
        </Button>
        {others.length > 0 && (
          <Menu position="bottom-end">
            <Menu.Target>
              <Button size="compact-md" px={6} aria-label="More ways to run it">
                <Icon shape={SHAPES.chevron} size={14} />
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              {others.map(({ name, word, start }) => (
                <Menu.Item key={name} onClick={() => void act(start)}>
                  {word}
                </Menu.Item>
              ))}
            </Menu.Dropdown>
          </Menu>
        )}
      </Button.Group>
    </>
  );
}

type Way = { name: Start; word: string; start: () => Promise<unknown> };

/** The first is the one that is most likely meant. None if the caller may not start runs. */
function useWays({ run: { id, status, agent, error }, view, chosenStep }: Props): Way[] {
  const failedStep = error?.stepNumber ?? undefined;
  const [failedName, chosenName] = [useStepName(view, failedStep), useStepName(view, chosenStep)];
  const mutate = useMutate();
  const navigate = useNavigate();
  const { may } = useMay();
  if (!may("runs:start")) return [];
  const show = (runId: string): Promise<void> => navigate({ to: "/runs/$runId", params: { runId }, search: {} });
  const retry = async (fromStep: number | undefined): Promise<void> =>
    show((await mutate(RetryRunDocument, { input: { runId: id, ...(fromStep && { fromStep }) } })).retryRun!.id);
  const all: Record<Start, Omit<Way, "name">> = {
    again: {
      word: "Run again",
      start: async () => show((await mutate(RerunRunDocument, { input: { runId: id } })).rerunRun!.id),
    },
    edit: {
      word: "Edit the input and run",
      start: () => navigate({ to: "/agents/$agentId", params: { agentId: agent.id }, search: { from: id } }),
    },
    retry: {
      word: failedStep === undefined ? "Retry" : `Retry from ${failedName}`,
      start: () => retry(undefined),
    },
    from: { word: `Run again from ${chosenName}`, start: () => retry(chosenStep) },
  };
  // `retry` of a failed run begins at the failed step already.
  const hasFrom = chosenStep !== undefined && !(chosenStep === failedStep && status === "failed");
  return STARTS[status].filter((name) => name !== "from" || hasFrom).map((name) => ({ name, ...all[name] }));
}

/** Cancels the run after a question. Absent if the run had ended when the page was opened. */
export function CancelRun({ id, status }: { id: string; status: RunStatus }) {
  const mutate = useMutate();
  const { may } = useMay();
  const { act, isBusy, refusal } = useAct();
  const [isAsking, ask] = useState(false);
  const isOpen = !FINAL.has(status);
  const [wasOpen] = useState(isOpen);
  const mayCancel = wasOpen && may("runs:cancel");
  useOnScreen(mayCancel && isOpen ? [{ word: "Cancel run", act: () => ask(true) }] : []);
  if (!mayCancel) return null;
  return (
    <span className={classes["end"]}>
      {refusal && isOpen && <Problem refusal={refusal} />}
      <EndInPlace
        word="Cancel run"
        keepWord="Keep it running"
        note={isOpen ? undefined : status === "cancelled" ? "Cancelled" : "It has ended"}
        size="compact-md"
        {...{ isAsking, isBusy }}
        onAsk={ask}
        onEnd={() => void act(() => mutate(CancelRunDocument, { runId: id }))}
      />
    </span>
  );
}

/** As in "pay (step 4)": names are not unique. */
const useStepName = (view: RunView, number: number | undefined): string =>
  useSyncExternalStore(view.shown.watch, () => {
    const step = number === undefined ? undefined : view.shown.get().find((one) => one.number === number);
    return step ? `${shortName(nameOf(step))} (step ${number})` : `step ${number}`;
  });
