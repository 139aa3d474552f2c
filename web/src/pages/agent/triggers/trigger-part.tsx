import { useState, type ReactNode } from "react";
import { Button } from "@mantine/core";
import { FireTriggerDocument, SetTriggerStatusDocument, type TriggerPartFragment } from "../../../api/documents.ts";
import { useMutate } from "../../../api/hooks.ts";
import { useAct } from "../../../api/use-act.ts";
import { Icon } from "../../../components/icon.tsx";
import { Problem } from "../../../components/notice.tsx";
import { useOnScreen } from "../../../components/palette/on-screen.ts";
import { StatusMark } from "../../../components/status-mark.tsx";
import { TRIGGER_SHAPES } from "../../../components/trigger-shapes.ts";
import type { FormField } from "../../../forms/values.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { Firings } from "./firings.tsx";
import { TestCall } from "./test-call.tsx";
import { KINDS } from "./kinds.ts";
import { TriggerMenu } from "./trigger-menu.tsx";
import { NewUrl, TriggerUrl } from "./trigger-url.tsx";
import classes from "./triggers-tab.module.css";

/** The rights of the caller's role: to change triggers, and to fire them. */
export type May = { write: boolean; start: boolean };

type Props = {
  /** The fields of the agent's input. */
  fields: readonly FormField[];
  trigger: TriggerPartFragment;
  may: May;
  onEdit: () => void;
  onChanged: () => void;
};

export function TriggerPart({ fields, trigger, may, onEdit, onChanged }: Props) {
  const { sentenceOf, Details, byHand } = KINDS[trigger.type];
  const { fire, firing, fireNow, changing, setStatus } = useTriggerActs({ trigger, may, onEdit });
  const [isTried, setIsTried] = useState(false);
  const [hasNewUrl, setHasNewUrl] = useState(false);
  const refusal = firing.refusal ?? changing.refusal;
  return (
    <section className={classes["trigger"]} aria-label={trigger.name}>
      <Head trigger={trigger}>
        {may.start && !isTried && (
          <Button
            variant="default"
            size="compact-sm"
            loading={firing.isBusy}
            onClick={() => (byHand.hasPayload ? setIsTried(true) : fireNow())}
          >
            {byHand.word}
          </Button>
        )}
        {may.write && (
          <TriggerMenu
            trigger={trigger}
            isBusy={changing.isBusy}
            onEdit={onEdit}
            onSetStatus={setStatus}
            onNewUrl={() => setHasNewUrl(true)}
            onDeleted={onChanged}
          />
        )}
      </Head>
      {refusal && <Problem refusal={refusal} />}
      {isTried && (
        <TestCall
          word={byHand.word}
          fields={trigger.policy.mapping ? [] : fields}
          send={fire}
          onEnd={() => setIsTried(false)}
        />
      )}
      <p>{sentenceOf({ ...trigger, filter: trigger.filter })}</p>
      {hasNewUrl && <NewUrl trigger={trigger} onDone={() => setHasNewUrl(false)} />}
      {!hasNewUrl && trigger.url && <TriggerUrl {...trigger} url={trigger.url} />}
      {Details && <Details trigger={trigger} />}
      <Firings trigger={trigger} mayReplay={may.start} />
    </section>
  );
}

/** The commands for a trigger; the palette offers them, too. */
function useTriggerActs({ trigger, may, onEdit }: Pick<Props, "trigger" | "may" | "onEdit">) {
  const { id, name, type, status, isManaged } = trigger;
  const mutate = useMutate();
  const firing = useAct();
  const changing = useAct();
  const isPaused = status === "paused";
  const fire = (payload?: JsonObject): Promise<unknown> =>
    mutate(FireTriggerDocument, { input: { triggerId: id, ...(payload && { payload }) } });
  const fireNow = (): void => void (firing.isBusy || firing.act(() => fire()));
  const setStatus = (): void => {
    const input = { triggerId: id, status: isPaused ? ("active" as const) : ("paused" as const) };
    if (!changing.isBusy) void changing.act(() => mutate(SetTriggerStatusDocument, { input }));
  };
  useOnScreen([
    ...(may.write && !isManaged ? [{ word: `Change ${name}`, act: onEdit }] : []),
    ...(may.start && !KINDS[type].byHand.hasPayload ? [{ word: `Fire ${name} now`, act: fireNow }] : []),
    ...(may.write ? [{ word: `${isPaused ? "Resume" : "Pause"} ${name}`, act: setStatus }] : []),
  ]);
  return { fire, firing, fireNow, changing, setStatus };
}

type HeadProps = { trigger: TriggerPartFragment; children: ReactNode };

const Head = ({ trigger: { name, type, status, isManaged, firings }, children }: HeadProps) => (
  <div className={classes["head"]}>
    <Icon shape={TRIGGER_SHAPES[type]} className="dim" />
    <h2>{name}</h2>
    <StatusMark status={status} />
    <span className="dim">
      {[isManaged && "from the definition", firings.nodes.length === 0 && "not fired yet"].filter(Boolean).join(", ")}
    </span>
    <div className={classes["actions"]}>{children}</div>
  </div>
);
