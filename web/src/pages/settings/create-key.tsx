import { useRef, useState, type SubmitEvent } from "react";
import { Button, TextInput } from "@mantine/core";
import { CreateKeyDocument, type CreateKeyMutation } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { restOf } from "../../api/refusal.ts";
import { useAct } from "../../api/use-act.ts";
import { Problem } from "../../components/notice.tsx";
import { useFocusBack } from "../../lib/use-focus-back.ts";
import { useFocusOnProblem } from "../../lib/use-focus-on-problem.ts";
import { AT_FIRST, endOf, isDateMissing, KeyExpiry } from "./key-expiry.tsx";
import { agentsLeft, EVERYWHERE, KeyReach } from "./key-reach.tsx";
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
  const { form, presets, said, set, setReach, mayNarrow, isOfAgents, problemOf, rest, isBusy, submit } =
    useKeyForm(props);
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
        onChange={(event) => set.name(event.currentTarget.value)}
      />
      <KeyScopes
        caller={props.caller}
        presets={presets}
        preset={said.preset}
        own={said.own}
        problem={problemOf("scopes", "Scopes")}
        onPreset={set.preset}
        onOwn={set.own}
      />
      {mayNarrow && (
        <KeyReach
          reach={said.reach}
          isOfAgents={isOfAgents}
          problemOf={(label) => problemOf("reach", label)}
          onChange={setReach}
        />
      )}
      <KeyExpiry expiry={said.expiry} problemOf={(label) => problemOf("expiresAt", label)} onChange={set.expiry} />
      <div className={settings["buttons"]}>
        <Button type="submit" loading={isBusy}>
          Create key
        </Button>
        <Button variant="default" onClick={props.onClose}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

/** The form's values, its problems, and sending it. */
function useKeyForm({ caller, presets: given, onMade }: Props) {
  const presets = inOrder(given).filter(({ scopes }) => scopes.every(caller.may));
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  const [name, setName] = useState("");
  const [preset, setPreset] = useState(presets[0]);
  const [own, setOwn] = useState<string[]>([]);
  const [reach, setReach] = useState(EVERYWHERE);
  const [expiry, setExpiry] = useState(AT_FIRST);
  const [tried, setTried] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  useFocusOnProblem(form, tried, refusal);

  const scopes = preset?.scopes ?? own;
  const mayNarrow = !scopes.includes("admin");
  const isOfAgents = preset?.needsAgent === true;
  const narrows = mayNarrow && (isOfAgents || reach.isNarrow);
  const projectIds = isOfAgents ? [] : reach.projectIds;
  const agentIds = agentsLeft({ ...reach, projectIds }).map(({ id }) => id);
  const local = {
    name: name.trim() === "" ? "is required" : undefined,
    scopes: scopes.length === 0 ? "must be at least one" : undefined,
    reach: narrows && projectIds.length + agentIds.length === 0 ? "must be at least one" : undefined,
    expiresAt: isDateMissing(expiry) ? "is required" : undefined,
  };
  const problemOf = (field: keyof typeof local, label: string): string | undefined => {
    const found = refusal?.fields.find(({ path }) => fieldOf(path) === field)?.message;
    const problem = tried > 0 ? (local[field] ?? found) : undefined;
    return problem && `${label} ${problem}`;
  };

  const drawn = new Set(["name", "expiresAt", ...(narrows ? ["reach"] : []), ...(preset ? [] : ["scopes"])]);
  const rest = restOf(refusal, (path) => drawn.has(fieldOf(path)));

  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    setTried(tried + 1);
    if (isBusy || Object.values(local).some(Boolean)) return;
    const expiresAt = endOf(expiry);
    const input = {
      name,
      scopes: [...scopes],
      ...(narrows && projectIds.length > 0 && { projectIds: [...projectIds] }),
      ...(narrows && agentIds.length > 0 && { agentIds }),
      ...(expiresAt !== undefined && { expiresAt }),
    };
    void act(async () => onMade((await mutate(CreateKeyDocument, { input })).createApiKey!));
  };
  return {
    form,
    presets,
    said: { name, preset, own, expiry, reach: { ...reach, projectIds } },
    set: { name: setName, preset: setPreset, own: setOwn, expiry: setExpiry },
    setReach: (change: Partial<typeof reach>) => setReach({ ...reach, ...change }),
    mayNarrow,
    isOfAgents,
    problemOf,
    rest,
    isBusy,
    submit,
  };
}

/** The form's field, of `input.agentIds.0`. */
function fieldOf(path: string): string {
  const name = path.split(".")[1] ?? "";
  return name === "agentIds" || name === "projectIds" ? "reach" : name;
}
