/** Starts a run of an agent: its form, or any JSON object if it has none, and the same as a call for one's own code. */
import { useState } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Button, Checkbox } from "@mantine/core";
import { StartRunDocument, type RunFormAgentFragment } from "../../api/documents.ts";
import { urlOf } from "../../api/base.ts";
import { useMutate } from "../../api/hooks.ts";
import { Refusal } from "../../api/refusal.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import type { JsonObject } from "../../lib/json.ts";
import { newKey } from "../../lib/new-key.ts";
import type { Note } from "../field-label.tsx";
import { InputForm } from "../input-form.tsx";
import { JsonForm } from "../json-form.tsx";
import { inputFrom, valuesFrom } from "../values.ts";
import { curlOfRun, typescriptOf, type Call } from "./calls.ts";
import classes from "./run-form.module.css";

type Props = {
  agent: RunFormAgentFragment;
  /** The first values, else the agent's defaults. */
  initial?: JsonObject | undefined;
  /** The sentence that it was read from, and beside the labels the words that each value came from. */
  runDraftId?: string;
  notes?: ReadonlyMap<string, Note>;
  /** Fields that somebody must have looked at before the run. */
  unlooked?: readonly string[];
  /** The same run as a call can be copied. */
  hasCalls?: boolean;
  onChange?: (input: JsonObject) => void;
};

/** An agent that says nothing of its input takes any JSON object. */
export const hasForm = ({ inputSchema, inputFields }: RunFormAgentFragment): boolean =>
  inputSchema !== null && inputFields.length > 0;

/** For who has looked at what a sentence was read as. */
const withValues = (count: number, handle: string): string =>
  count === 0 ? `Run ${handle}` : count === 1 ? "Run with this value" : `Run with these ${count} values`;

const titlesOf = ({ inputFields }: RunFormAgentFragment, names: readonly string[]): string =>
  inputFields
    .filter(({ name }) => names.includes(name))
    .map(({ title }) => title)
    .join(", ");

const EXPIRED = new Refusal("The sentence was read too long ago. Read it again; what you changed stays.");

const NONE: readonly string[] = [];
const LOOK = "has its default value, and a part of the sentence was not understood: check it, and confirm below";

const unseen = (names: readonly string[]): Refusal =>
  new Refusal(LOOK, { fields: names.map((name) => ({ path: `input.input.${name}`, code: "invalid", message: LOOK })) });

export function RunForm({ agent, initial, runDraftId, notes, unlooked = NONE, hasCalls = true, onChange }: Props) {
  const { id, name, handle, inputFields } = agent;
  const navigate = useNavigate();
  const mutate = useMutate();
  const [values] = useState(() => valuesFrom(inputFields, initial));
  const [input, setInput] = useState<JsonObject>(() =>
    hasForm(agent) ? inputFrom(inputFields, values) : (initial ?? {}),
  );
  const [key, setKey] = useState(newKey);
  const [hasLooked, setHasLooked] = useState(false);
  const change = (next: JsonObject): void => {
    setInput(next);
    // Another input is another run: with the key of one whose answer was lost it would be refused.
    setKey(newKey());
    onChange?.(next);
  };
  const send = async (given: JsonObject): Promise<void> => {
    if (unlooked.length > 0 && !hasLooked) throw unseen(unlooked);
    const request = { agentId: id, input: given, idempotencyKey: key, ...(runDraftId && { runDraftId }) };
    const { runAgent } = await mutate(StartRunDocument, { input: request }).catch((error: unknown) => {
      throw error instanceof Refusal && error.fields.some(({ path }) => path === "input.runDraftId") ? EXPIRED : error;
    });
    setKey(newKey());
    await navigate({ to: "/runs/$runId", params: { runId: runAgent!.id } });
  };
  const buttons = (isSending: boolean) => (
    <div className={classes["buttons"]}>
      {unlooked.length > 0 && (
        <Checkbox
          className={classes["looked"]}
          label={`I have checked the default values: ${titlesOf(agent, unlooked)}`}
          checked={hasLooked}
          onChange={(event) => setHasLooked(event.currentTarget.checked)}
        />
      )}
      <Button type="submit" loading={isSending}>
        {runDraftId ? withValues(Object.keys(input).length, handle) : `Run ${handle}`}
      </Button>
      {hasCalls && <CopyAs call={{ url: urlOf("graphql"), agentId: id, input }} />}
    </div>
  );
  return hasForm(agent) ? (
    <InputForm fields={inputFields} initial={values} {...(notes && { notes })} onChange={change} send={send}>
      {buttons}
    </InputForm>
  ) : (
    <JsonForm label={`Input of ${name}`} initial={initial ?? {}} onChange={change} send={send}>
      {buttons}
    </JsonForm>
  );
}

const CopyAs = ({ call }: { call: Call }) => (
  <span className="line">
    <span className="dim">Copy as</span>
    <CopyButton label="Copy as curl" word="curl" text={curlOfRun(call)} />
    <CopyButton label="Copy as TypeScript" word="TypeScript" text={typescriptOf(call)} />
  </span>
);
