import { useState } from "react";
import { TextInput } from "@mantine/core";
import { CreateKeyDocument, type CreateKeyMutation } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { fieldOf, restOf } from "../../api/refusal.ts";
import { Problem } from "../../components/notice.tsx";
import { SendOrCancel } from "../../forms/send-or-cancel.tsx";
import { useSubmit } from "../../forms/use-submit.ts";
import { useFocusBack } from "../../lib/use-focus-back.ts";
import { AT_FIRST, KeyExpiry } from "./key-expiry.tsx";
import {
  isNarrowed,
  isOfAgents,
  keyInput,
  mayNarrow,
  problemsIn,
  projectIdsOf,
  type Part,
  type SaidOfKey,
} from "./key-input.ts";
import { EVERYWHERE, KeyReach } from "./key-reach.tsx";
import { inOrder, KeyScopes, type Preset } from "./key-scopes.tsx";
import settings from "./settings.module.css";
import type { Caller } from "./use-caller.ts";

type Made = NonNullable<CreateKeyMutation["createApiKey"]>;

type Props = {
  caller: Caller;
  presets: readonly Preset[];
  onMade: (made: Made) => void;
  onClose: () => void;
};

export function CreateKey(props: Props) {
  const { form, presets, said, set, problemOf, rest, isBusy, submit } = useKeyForm(props);
  useFocusBack();
  return (
    <form ref={form} className={settings["form"]} noValidate onSubmit={submit} aria-labelledby="create-key">
      <h2 id="create-key">Create key</h2>
      {rest && <Problem refusal={rest} />}
      <TextInput
        label="Name"
        description="What uses it, such as nightly-report."
        value={said.name}
        maxLength={200}
        autoComplete="off"
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- one came here for it
        autoFocus
        error={problemOf("name", "Name")}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <KeyScopes
        caller={props.caller}
        presets={presets}
        preset={said.preset}
        own={said.own}
        problem={problemOf("scopes", "Scopes")}
        onPreset={(preset) => set({ preset })}
        onOwn={(own) => set({ own })}
      />
      {mayNarrow(said) && (
        <KeyReach
          reach={{ ...said.reach, projectIds: projectIdsOf(said) }}
          isOfAgents={isOfAgents(said)}
          problemOf={(label) => problemOf("reach", label)}
          onChange={(change) => set({ reach: { ...said.reach, ...change } })}
        />
      )}
      <KeyExpiry
        expiry={said.expiry}
        problemOf={(label) => problemOf("expiresAt", label)}
        onChange={(expiry) => set({ expiry })}
      />
      <SendOrCancel verb="Create key" isBusy={isBusy} onCancel={props.onClose} />
    </form>
  );
}

/** The form's values, its problems, and sending it. */
function useKeyForm({ caller, presets: given, onMade }: Props) {
  const presets = inOrder(given).filter(({ scopes }) => scopes.every(caller.may));
  const mutate = useMutate();
  const [said, setSaid] = useState<SaidOfKey>({
    name: "",
    preset: presets[0],
    own: [],
    reach: EVERYWHERE,
    expiry: AT_FIRST,
  });
  const problems = problemsIn(said);
  const { form, submit, isBusy, refusal, isTried } = useSubmit({
    check: () => Object.keys(problems).length === 0,
    send: async () => onMade((await mutate(CreateKeyDocument, { input: keyInput(said) })).createApiKey!),
  });
  const problemOf = (part: Part, label: string): string | undefined => {
    const found = refusal?.fields.find(({ path }) => partOf(path) === part)?.message;
    const problem = isTried ? (problems[part] ?? found) : undefined;
    return problem && `${label} ${problem}`;
  };
  const shown = new Set([
    "name",
    "expiresAt",
    ...(isNarrowed(said) ? ["reach"] : []),
    ...(said.preset ? [] : ["scopes"]),
  ]);
  return {
    form,
    presets,
    said,
    set: (change: Partial<SaidOfKey>): void => setSaid((before) => ({ ...before, ...change })),
    problemOf,
    rest: restOf(refusal, (path) => shown.has(partOf(path))),
    isBusy,
    submit,
  };
}

/** The form's part that shows a problem of the input. */
function partOf(path: string): string {
  const name = fieldOf(path);
  return name === "agentIds" || name === "projectIds" ? "reach" : name;
}
