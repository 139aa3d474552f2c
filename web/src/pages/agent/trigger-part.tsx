import { useState } from "react";
import { Button } from "@mantine/core";
import { FireTriggerDocument, SetTriggerStatusDocument, type TriggerPartFragment } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { useAct } from "../../api/use-act.ts";
import { Icon } from "../../components/icon.tsx";
import { Problem } from "../../components/notice.tsx";
import { useOnScreen } from "../../components/palette/on-screen.ts";
import { StatusMark } from "../../components/status-mark.tsx";
import type { FormField } from "../../forms/values.ts";
import type { JsonObject } from "../../lib/json.ts";
import { CronInstants } from "./cron-instants.tsx";
import { Firings } from "./firings.tsx";
import { TestCall } from "./test-call.tsx";
import { TriggerMenu } from "./trigger-menu.tsx";
import { sentenceOf, TYPES } from "./trigger-words.ts";
import classes from "./triggers-tab.module.css";
import { NewUrl, WebhookUrl } from "./webhook-url.tsx";

/** What the caller's role allows: to change triggers, and to fire them. */
export type May = { write: boolean; start: boolean };

type Props = {
  /** Of the agent's input. */
  fields: readonly FormField[];
  trigger: TriggerPartFragment;
  may: May;
  onEdit: () => void;
  onChanged: () => void;
};

export function TriggerPart({ fields, trigger, may, onEdit, onChanged }: Props) {
  const { id, name, type, status, isManaged, timezone, firings } = trigger;
  const mutate = useMutate();
  const firing = useAct();
  const changing = useAct();
  const [isTried, setIsTried] = useState(false);
  const [hasNewUrl, setHasNewUrl] = useState(false);
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
    ...(may.start && type === "cron" ? [{ word: `Fire ${name} now`, act: fireNow }] : []),
    ...(may.write ? [{ word: `${isPaused ? "Resume" : "Pause"} ${name}`, act: setStatus }] : []),
  ]);
  const refusal = firing.refusal ?? changing.refusal;
  const tryWord = type === "webhook" ? "Send a test call" : "Fire now";
  return (
    <section className={classes["trigger"]} aria-label={name}>
      <div className={classes["head"]}>
        <Icon shape={TYPES[type].shape} className="dim" />
        <h2>{name}</h2>
        <StatusMark status={status} />
        <span className="dim">
          {[isManaged && "from the definition", firings.nodes.length === 0 && "not fired yet"]
            .filter(Boolean)
            .join(", ")}
        </span>
        <div className={classes["actions"]}>
          {may.start && !isTried && (
            <Button
              variant="default"
              size="compact-sm"
              loading={firing.isBusy}
              onClick={() => (type === "cron" ? fireNow() : setIsTried(true))}
            >
              {tryWord}
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
        </div>
      </div>
      {refusal && <Problem refusal={refusal} />}
      {isTried && (
        <TestCall
          word={tryWord}
          fields={trigger.policy.mapping ? [] : fields}
          send={async (payload) => {
            await fire(payload);
            setIsTried(false);
          }}
          onCancel={() => setIsTried(false)}
        />
      )}
      <p>{sentenceOf({ ...trigger, filter: trigger.filter })}</p>
      {hasNewUrl && <NewUrl trigger={trigger} onDone={() => setHasNewUrl(false)} />}
      {!hasNewUrl && trigger.url && <WebhookUrl {...trigger} url={trigger.url} />}
      {type === "cron" && (
        <>
          {isPaused && <p className="dim">Paused. If resumed, it would next run:</p>}
          <CronInstants instants={trigger.nextInstants} timezone={timezone!} />
        </>
      )}
      <Firings trigger={trigger} mayReplay={may.start} />
    </section>
  );
}
