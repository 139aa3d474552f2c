/** Makes a trigger, or changes one: what it waits for, and by which policy. */
import { useEffect, useState } from "react";
import { Button, NativeSelect, TextInput } from "@mantine/core";
import {
  CreateTriggerDocument,
  UpdateTriggerDocument,
  type TriggerPartFragment,
  type TriggerType,
} from "../../../api/documents.ts";
import { useMutate } from "../../../api/hooks.ts";
import { restOf, type FieldProblem } from "../../../api/refusal.ts";
import { CopyButton } from "../../../components/copy-button.tsx";
import { Problem } from "../../../components/notice.tsx";
import { SendOrCancel } from "../../../forms/send-or-cancel.tsx";
import { useSubmit } from "../../../forms/use-submit.ts";
import type { FormField } from "../../../forms/values.ts";
import { useFocusBack } from "../../../lib/use-focus-back.ts";
import { KINDS } from "./kinds.ts";
import type { FieldsProps, Said, TriggerKind } from "./kinds/trigger-kind.ts";
import classes from "./triggers-tab.module.css";

type Props = {
  agentId: string;
  /** The fields of the agent's input. */
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
  { value: "cancelPrevious", label: "Cancel the previous run" },
];

export function TriggerForm(props: Props) {
  const { fields, type, trigger, onDone, onCancel } = props;
  const kind = KINDS[type];
  const { word, Fields, LastFields } = kind;
  const { form, said, problems, rest, set, isBusy, made, submit } = useTriggerForm(kind, props);
  useFocusBack();
  useFocusIn(form, trigger !== undefined && kind.isEditedAtFields === true);
  const problemOf = (name: string, label: string): string | undefined => {
    const problem = problems.get(name);
    return problem && `${label} ${problem}`;
  };
  const text = (name: keyof Said, label: string) => ({
    label,
    value: said[name],
    error: problemOf(name, label),
    onChange: (event: { currentTarget: { value: string } }) => set({ [name]: event.currentTarget.value }),
  });
  if (made) return <Made trigger={made} onDone={onDone} />;
  const own: FieldsProps = { said, problems, fields, set, problemOf, text };
  return (
    <form ref={form} noValidate className={classes["form"]} aria-label={word} onSubmit={submit}>
      <h2>{word}</h2>
      {rest && <Problem refusal={rest} />}
      <TextInput autoComplete="off" {...text("name", "Name")} />
      <Fields {...own} />
      <NativeSelect data={OVERLAPS} {...text("overlap", "If the previous run is still open")} />
      {LastFields && <LastFields {...own} />}
      <SendOrCancel verb={trigger ? `Change ${trigger.name}` : "Add the trigger"} isBusy={isBusy} onCancel={onCancel} />
    </form>
  );
}

/** The form's values, its problems, and sending it. `made`: a new trigger that is called by its URL. */
function useTriggerForm(kind: TriggerKind, { agentId, fields, type, trigger, onDone }: Props) {
  const mutate = useMutate();
  const [said, setSaid] = useState<Said>(() => ({
    name: trigger?.name ?? "",
    overlap: trigger?.policy.overlap ?? kind.overlap,
    ...kind.saidBy(trigger, fields),
  }));
  /** Fields that were edited since the last try: their problems are hidden. */
  const [edited, setEdited] = useState<readonly string[]>([]);
  const [made, setMade] = useState<TriggerPartFragment>();
  const set = (change: object, path = Object.keys(change)[0]!): void => {
    setSaid({ ...said, ...change });
    setEdited([...edited, path]);
  };
  const send = async (): Promise<void> => {
    setEdited([]);
    const shared = {
      name: said.name,
      trigger: { type, ...kind.configurationOf(said) },
      policy: { ...unshown(trigger), overlap: said.overlap, ...kind.policyOf(said) },
    };
    if (trigger) await mutate(UpdateTriggerDocument, { input: { triggerId: trigger.id, ...shared } });
    else {
      const { createTrigger } = await mutate(CreateTriggerDocument, { input: { agentId, ...shared } });
      if (kind.hasUrl) return setMade(createTrigger!);
    }
    onDone();
  };
  const { form, submit, isBusy, refusal } = useSubmit({ send });
  const isShown = (path: string): boolean => Object.hasOwn(said, placeOf(path)[0]!);
  const problems = new Map<string, string>();
  for (const [place, words] of refusal?.fields.filter(({ path }) => isShown(path)).map(problemAt) ?? []) {
    const isEdited = edited.some((one) => isAt(place, one));
    const before = problems.get(place);
    if (!isEdited) problems.set(place, before ? `${before}; ${words}` : words);
  }
  return { form, said, problems, rest: restOf(refusal, isShown), set, isBusy, made, submit };
}

/** `schedule`, of `input.trigger.schedule`; `input` and `amount`, of `input.trigger.input.amount`. */
const placeOf = (path: string): string[] => path.replace(/^input\.(?:(?:trigger|policy)\.)?/, "").split(".");

/** `input.amount` is one of the input's; what is within another field belongs to its message. */
function problemAt({ path, message }: FieldProblem): [string, string] {
  const [name, ...within] = placeOf(path);
  return name === "input" ? [[name, ...within].join("."), message] : [name!, [...within, message].join(" ")];
}

/** A policy that is given replaces the former one as a whole: what this form does not show stays as it is. */
function unshown(trigger: TriggerPartFragment | undefined) {
  if (!trigger) return {};
  const { signature, allowedAddresses, catchUpMinutes, startsAt, endsAt, deliveryHeader } = trigger.policy;
  const all = { signature, allowedAddresses, catchUpMinutes, startsAt, endsAt, deliveryHeader };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
}

/** Focuses the field that one came for, with its text selected so that typing replaces it. */
function useFocusIn(form: React.RefObject<HTMLFormElement | null>, isAtFields: boolean): void {
  useEffect(() => {
    const [name, first] = form.current?.querySelectorAll<HTMLInputElement>("input") ?? [];
    if (isAtFields) first?.select();
    else name?.focus();
  }, [form, isAtFields]);
}

const isAt = (path: string, place: string): boolean => path === place || path.startsWith(`${place}.`);

const Made = ({ trigger: { name, curl }, onDone }: { trigger: TriggerPartFragment; onDone: () => void }) => (
  <section className={classes["trigger"]} aria-label={name}>
    <h2>{name} can be called now</h2>
    <p>Anyone with this URL can call it: keep it like a password.</p>
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
