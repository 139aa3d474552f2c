import { useRef, useState, type SubmitEvent } from "react";
import { Button, Checkbox, NativeSelect, Radio, TextInput } from "@mantine/core";
import { CreateKeyDocument, type CreateKeyMutation, type KeysQuery } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { restOf } from "../../api/refusal.ts";
import { useAct } from "../../api/use-act.ts";
import { Problem } from "../../components/notice.tsx";
import { useFocusBack } from "../../lib/use-focus-back.ts";
import { useFocusOnProblem } from "../../lib/use-focus-on-problem.ts";
import classes from "./create-key.module.css";
import { agentsLeft, KeyReach, type Reach } from "./key-reach.tsx";
import { SCOPES } from "./scopes.ts";
import settings from "./settings.module.css";
import type { Caller } from "./use-caller.ts";

type Made = NonNullable<CreateKeyMutation["createApiKey"]>;
type Preset = NonNullable<KeysQuery["apiKeyPresets"]>[number];

const OWN = "own";
const DAY_MS = 86_400_000;
const ENDS = [
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "date", label: "On a date" },
  { value: "", label: "Never" },
];

/** The safest first: what a key for a program usually is. */
const inOrder = (presets: readonly Preset[]): Preset[] =>
  presets.toSorted((a, b) => rank(a) - rank(b) || a.scopes.length - b.scopes.length);
const rank = ({ id, scopes }: Preset): number => (id === "run-agent" ? 0 : scopes.includes("admin") ? 2 : 1);

type Props = {
  caller: Caller;
  presets: readonly Preset[];
  onMade: (made: Made) => void;
  onClose: () => void;
};

export function CreateKey({ caller, presets: given, onMade, onClose }: Props) {
  const presets = inOrder(given).filter(({ scopes }) => scopes.every(caller.may));
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  const [name, setName] = useState("");
  const [presetId, setPresetId] = useState(presets[0]?.id ?? OWN);
  const [own, setOwn] = useState<string[]>([]);
  const [isNarrow, setIsNarrow] = useState(false);
  const [reach, setReach] = useState<Reach>({ projectIds: [], agents: [] });
  const [ends, setEnds] = useState("90");
  const [date, setDate] = useState("");
  const [tried, setTried] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  useFocusBack();
  useFocusOnProblem(form, tried, refusal);

  const preset = presets.find(({ id }) => id === presetId);
  const scopes = preset?.scopes ?? own;
  const mayNarrow = !scopes.includes("admin");
  const isOfAgents = preset?.needsAgent === true;
  const narrows = mayNarrow && (isOfAgents || isNarrow);
  const projectIds = isOfAgents ? [] : reach.projectIds;
  const agentIds = agentsLeft({ ...reach, projectIds }).map(({ id }) => id);
  const local = {
    name: name.trim() === "" ? "is required" : undefined,
    scopes: scopes.length === 0 ? "must be at least one" : undefined,
    reach: narrows && projectIds.length + agentIds.length === 0 ? "must be at least one" : undefined,
    expiresAt: ends === "date" && date === "" ? "is required" : undefined,
  };
  const problemOf = (field: keyof typeof local, label: string): string | undefined => {
    const found = refusal?.fields.find(({ path }) => fieldOf(path) === field)?.message;
    const problem = tried > 0 ? (local[field] ?? found) : undefined;
    return problem && `${label} ${problem}`;
  };

  const drawn = new Set(["name", "expiresAt", ...(narrows ? ["reach"] : []), ...(presetId === OWN ? ["scopes"] : [])]);
  const rest = restOf(refusal, (path) => drawn.has(fieldOf(path)));

  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    setTried(tried + 1);
    if (isBusy || Object.values(local).some(Boolean)) return;
    const input = {
      name,
      scopes: [...scopes],
      ...(narrows && projectIds.length > 0 && { projectIds: [...projectIds] }),
      ...(narrows && agentIds.length > 0 && { agentIds }),
      ...(ends !== "" && { expiresAt: endOf(ends, date) }),
    };
    void act(async () => onMade((await mutate(CreateKeyDocument, { input })).createApiKey!));
  };

  return (
    <form ref={form} className={settings["form"]} noValidate onSubmit={submit} aria-labelledby="create-key">
      <h2 id="create-key">Create key</h2>
      {rest && <Problem refusal={rest} />}
      <TextInput
        label="Name"
        description="What uses it, such as nightly-report."
        value={name}
        maxLength={200}
        autoComplete="off"
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- one came here for it
        autoFocus
        error={problemOf("name", "Name")}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Radio.Group label="What it may do" value={presetId} onChange={setPresetId}>
        <div className={classes["presets"]}>
          {presets.map(({ id, title }) => (
            <Radio key={id} value={id} label={title} />
          ))}
          <Radio value={OWN} label="Choose scopes" />
        </div>
        <p className="dim">{preset?.description ?? "Exactly what you tick."}</p>
      </Radio.Group>
      {presetId === OWN && (
        <Checkbox.Group label="Scopes" value={own} onChange={setOwn} error={problemOf("scopes", "Scopes")}>
          <div className={classes["scopes"]}>
            {SCOPES.filter(({ scope }) => caller.may(scope)).map(({ scope, does }) => (
              <Checkbox key={scope} value={scope} label={scope} description={does} />
            ))}
          </div>
        </Checkbox.Group>
      )}
      {mayNarrow && !isOfAgents && (
        <Radio.Group
          label="Where"
          value={isNarrow ? "some" : "all"}
          onChange={(value) => setIsNarrow(value === "some")}
        >
          <div className={classes["presets"]}>
            <Radio value="all" label="The whole organization" />
            <Radio value="some" label="Only some projects or agents" />
          </div>
        </Radio.Group>
      )}
      {narrows && (
        <KeyReach
          reach={{ ...reach, projectIds }}
          isOfAgents={isOfAgents}
          problem={problemOf("reach", isOfAgents ? "Agents" : "Agents or projects")}
          onChange={(change) => setReach({ ...reach, ...change })}
        />
      )}
      <NativeSelect
        label="Expires"
        value={ends}
        data={ENDS}
        onChange={(event) => setEnds(event.currentTarget.value)}
        error={ends === "date" ? undefined : problemOf("expiresAt", "Expires")}
      />
      {ends === "date" && (
        <TextInput
          type="date"
          label="Last day"
          value={date}
          error={problemOf("expiresAt", "Last day")}
          onChange={(event) => setDate(event.currentTarget.value)}
        />
      )}
      <div className={settings["buttons"]}>
        <Button type="submit" loading={isBusy}>
          Create key
        </Button>
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

/** The form's field, of `input.agentIds.0`. */
function fieldOf(path: string): string {
  const name = path.split(".")[1] ?? "";
  return name === "agentIds" || name === "projectIds" ? "reach" : name;
}

/** The end of that day, where the reader is. */
const endOf = (ends: string, date: string): string =>
  (ends === "date" ? new Date(`${date}T23:59:59`) : new Date(Date.now() + Number(ends) * DAY_MS)).toISOString();
