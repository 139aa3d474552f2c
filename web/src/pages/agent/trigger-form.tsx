/** Makes a trigger, or changes one: what it waits for, and by which policy. */
import { useEffect, useRef, useState, type SubmitEvent } from "react";
import { Button, NativeSelect, TextInput } from "@mantine/core";
import {
  CreateTriggerDocument,
  UpdateTriggerDocument,
  type TriggerPartFragment,
  type TriggerType,
} from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { useAct } from "../../api/use-act.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { Problem } from "../../components/notice.tsx";
import type { FormField } from "../../forms/values.ts";
import { useFocusBack } from "../../lib/use-focus-back.ts";
import { CronFields, MissedFields } from "./cron-fields.tsx";
import { EventFields, Mapping } from "./event-fields.tsx";
import { configurationOf, policyOf, problemAt, saidBy, unshown, type PartProps } from "./trigger-said.ts";
import { TYPES } from "./trigger-words.ts";
import { WebhookFields } from "./webhook-fields.tsx";
import classes from "./triggers-tab.module.css";

type Props = {
  agentId: string;
  /** Of the agent's input. */
  fields: readonly FormField[];
  type: TriggerType;
  /** The one that is changed. */
  trigger?: TriggerPartFragment;
  onDone: () => void;
  onCancel: () => void;
};

const OVERLAPS = [
  { value: "allow", label: "Start another run" },
  { value: "skip", label: "Skip it" },
  { value: "queue", label: "Queue: one after the other" },
  { value: "cancelPrevious", label: "Cancel the run before" },
];

export function TriggerForm({ agentId, fields, type, trigger, onDone, onCancel }: Props) {
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  const [said, setSaid] = useState(() => saidBy(type, trigger, fields));
  /** Whose problems were looked after since the last try. */
  const [mended, setMended] = useState<readonly string[]>([]);
  const [made, setMade] = useState<TriggerPartFragment>();
  const form = useRef<HTMLFormElement>(null);
  useFocusBack();
  useFocusIn(form, { isSchedule: trigger !== undefined && type === "cron", hasProblems: refusal !== undefined });

  const problems = new Map(
    refusal?.fields.flatMap(problemAt).filter(([path]) => !mended.some((one) => isAt(path, one))),
  );
  const set: PartProps["set"] = (change, path = Object.keys(change)[0]!) => {
    setSaid({ ...said, ...change });
    setMended([...mended, path]);
  };
  const text: PartProps["text"] = (name) => ({
    value: String(said[name]),
    error: problems.get(name),
    onChange: (event) => set({ [name]: event.currentTarget.value }),
  });
  const send = async (): Promise<void> => {
    const shared = {
      name: said.name,
      trigger: configurationOf(type, said),
      policy: { ...unshown(trigger), ...policyOf(type, said) },
    };
    if (trigger) await mutate(UpdateTriggerDocument, { input: { triggerId: trigger.id, ...shared } });
    else {
      const { createTrigger } = await mutate(CreateTriggerDocument, { input: { agentId, ...shared } });
      if (type === "webhook") return setMade(createTrigger!);
    }
    onDone();
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (isBusy) return;
    setMended([]);
    void act(send);
  };

  if (made) return <Made trigger={made} onDone={onDone} />;
  const part: PartProps = { said, problems, fields, set, text };
  return (
    <form ref={form} noValidate className={classes["form"]} aria-label={TYPES[type].word} onSubmit={submit}>
      <h2>{TYPES[type].word}</h2>
      {refusal && <Problem refusal={refusal} />}
      <TextInput label="Name" autoComplete="off" {...text("name")} />
      {type === "cron" && <CronFields {...part} />}
      {type === "event" && <EventFields {...part} />}
      {type === "webhook" && <WebhookFields {...part} />}
      {type !== "cron" && <Mapping {...part} />}
      <NativeSelect label="While the run before is open" data={OVERLAPS} {...text("overlap")} />
      {type === "cron" && <MissedFields {...part} />}
      <span className="line">
        <Button type="submit" loading={isBusy}>
          {trigger ? `Change ${trigger.name}` : "Add the trigger"}
        </Button>
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
      </span>
    </form>
  );
}

/** One came here for it: what is typed replaces what stood there. What is wrong is where one goes on. */
function useFocusIn(
  form: React.RefObject<HTMLFormElement | null>,
  { isSchedule, hasProblems }: { isSchedule: boolean; hasProblems: boolean },
): void {
  useEffect(() => {
    const [name, schedule] = form.current?.querySelectorAll<HTMLInputElement>("input") ?? [];
    if (isSchedule) schedule?.select();
    else name?.focus();
  }, [form, isSchedule]);
  useEffect(() => {
    if (hasProblems) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [form, hasProblems]);
}

const isAt = (path: string, place: string): boolean => path === place || path.startsWith(`${place}.`);

const Made = ({ trigger: { name, curl }, onDone }: { trigger: TriggerPartFragment; onDone: () => void }) => (
  <section className={classes["trigger"]} aria-label={name}>
    <h2>{name} can be called now</h2>
    <p>Whoever has this URL may call it: keep it like a password.</p>
    <pre className={classes["curl"]}>{curl}</pre>
    <span className="line">
      <CopyButton label="Copy as curl" text={curl ?? ""} />
      {/* oxlint-disable-next-line jsx-a11y/no-autofocus -- the form, which had the focus, is gone */}
      <Button size="compact-sm" autoFocus onClick={onDone}>
        Done
      </Button>
    </span>
  </section>
);
