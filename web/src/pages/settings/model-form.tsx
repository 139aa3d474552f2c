import { useState } from "react";
import { Checkbox, NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import {
  CreateModelDocument,
  UpdateModelDocument,
  type ModelFragment,
  type ModelProvider,
} from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { restOf } from "../../api/refusal.ts";
import { Problem } from "../../components/notice.tsx";
import { SendOrCancel } from "../../forms/send-or-cancel.tsx";
import { useSubmit } from "../../forms/use-submit.ts";
import { useFocusBack } from "../../lib/use-focus-back.ts";
import settings from "./settings.module.css";
import { changesOf, inputOf, problemsIn, PROVIDERS, saidOf, type SaidOfModel, type TextField } from "./model-input.ts";
import classes from "./models.module.css";

type Props = {
  project: { id: string; name: string };
  /** The connection that is changed; undefined for a new one. */
  model: ModelFragment | undefined;
  onSaved: (name: string) => void;
  onClose: () => void;
};

export function ModelForm(props: Props) {
  const { form, said, set, lineOf, rest, isBusy, submit } = useModelForm(props);
  const { project, model, onClose } = props;
  useFocusBack();
  return (
    <form ref={form} className={settings["form"]} noValidate onSubmit={submit} aria-labelledby="model-form">
      <h2 id="model-form">{model ? `Edit ${model.name}` : `Add a model to ${project.name}`}</h2>
      {rest && <Problem refusal={rest} />}
      <TextInput
        {...lineOf("name", "Name")}
        description="How agents name it, such as cheap."
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- one came here for it
        autoFocus
      />
      <NativeSelect
        label="Provider"
        value={said.provider}
        data={Object.entries(PROVIDERS).map(([value, label]) => ({ value, label }))}
        onChange={(event) => set({ provider: event.currentTarget.value as ModelProvider })}
      />
      <TextInput
        {...lineOf("baseUrl", "Base URL")}
        type="url"
        description={
          said.provider === "openai_compatible"
            ? "Such as https://models.example.com/v1."
            : "Leave it empty for the provider’s own address."
        }
      />
      <TextInput {...lineOf("model", "Model")} description="Its name at the provider." />
      <KeyField {...{ said, set, lineOf }} hasKey={model?.hasKey === true} />
      <TextInput
        {...lineOf("apiKeyHeader", "Key header")}
        description="Only for a gateway that takes the key in a header of its own, such as api-key."
      />
      <Checkbox
        label="Default of the project"
        description="It reads the sentences for the project’s agents. At most one is the default."
        checked={said.isDefault}
        onChange={(event) => set({ isDefault: event.currentTarget.checked })}
      />
      <PricesAndLimits lineOf={lineOf} />
      <SendOrCancel verb={model ? "Save" : "Add model"} isBusy={isBusy} onCancel={onClose} />
    </form>
  );
}

type Form = ReturnType<typeof useModelForm>;

/** `hasKey`: there is one, which stays unless another is typed or none is wanted. */
const KeyField = ({ said, set, lineOf, hasKey }: Pick<Form, "said" | "set" | "lineOf"> & { hasKey: boolean }) => (
  <>
    <PasswordInput
      {...lineOf("apiKey", "Key")}
      // The browser must not fill in a password that belongs to this site.
      autoComplete="new-password"
      disabled={said.isKeyless}
      placeholder={hasKey && !said.isKeyless ? "kept" : undefined}
      description={
        hasKey
          ? "There is one, and it is kept until you type another. It is never shown."
          : "It is never shown again. Leave it empty if the endpoint asks for none."
      }
    />
    {hasKey && (
      <Checkbox
        label="Ask without a key"
        checked={said.isKeyless}
        onChange={(event) => set({ isKeyless: event.currentTarget.checked, apiKey: "" })}
      />
    )}
  </>
);

const PricesAndLimits = ({ lineOf }: Pick<Form, "lineOf">) => (
  <>
    <fieldset className={classes["numbers"]}>
      <legend>
        Prices <span className={settings["optional"]}>optional</span>
      </legend>
      <p>Of a million tokens, in a currency such as EUR.</p>
      <TextInput {...lineOf("prices.inputPerMillion", "Input")} inputMode="decimal" />
      <TextInput {...lineOf("prices.outputPerMillion", "Output")} inputMode="decimal" />
      <TextInput {...lineOf("prices.cachedInputPerMillion", "Cached input")} inputMode="decimal" />
      <TextInput {...lineOf("prices.currency", "Currency")} maxLength={3} />
    </fieldset>
    <fieldset className={classes["numbers"]}>
      <legend>
        Limits <span className={settings["optional"]}>optional</span>
      </legend>
      <p>A call that could use more than is left of a day is refused. A cost needs prices.</p>
      <TextInput {...lineOf("limits.concurrency", "Calls at a time")} inputMode="numeric" />
      <TextInput {...lineOf("limits.tokensPerDay", "Tokens a day")} inputMode="numeric" />
      <TextInput {...lineOf("limits.costPerDay", "Cost a day")} inputMode="decimal" />
    </fieldset>
  </>
);

/** The form's values, its problems, and sending it. */
function useModelForm({ project, model: given, onSaved }: Props) {
  const mutate = useMutate();
  /** As the form began: all changes are compared with it. */
  const [model] = useState(given);
  const [said, setSaid] = useState<SaidOfModel>(() => saidOf(model));
  const problems = problemsIn(said);
  const { form, submit, isBusy, refusal, isTried } = useSubmit({
    check: () => Object.keys(problems).length === 0,
    send: async () => {
      if (model)
        await mutate(UpdateModelDocument, { input: { ...changesOf(model, said), modelConnectionId: model.id } });
      else await mutate(CreateModelDocument, { input: { ...inputOf(said), projectId: project.id } });
      onSaved(said.name.trim());
    },
  });
  const problemOf = (field: TextField, label: string): string | undefined => {
    const found = refusal?.fields.find(({ path }) => path === `input.${field}`)?.message;
    const problem = isTried ? (problems[field] ?? found) : undefined;
    return problem && `${label} ${problem}`;
  };
  const set = (change: Partial<SaidOfModel>): void => setSaid((before) => ({ ...before, ...change }));
  /** The properties of a line of text. */
  const lineOf = (field: TextField, label: string) => ({
    label,
    value: said[field],
    autoComplete: "off",
    spellCheck: false,
    error: problemOf(field, label),
    onChange: (event: { currentTarget: { value: string } }) => set({ [field]: event.currentTarget.value }),
  });
  return {
    form,
    said,
    set,
    lineOf,
    rest: restOf(refusal, (path) => Object.hasOwn(said, path.replace(/^input\./, ""))),
    isBusy,
    submit,
  };
}
