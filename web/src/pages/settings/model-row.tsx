/** A model connection of a project: what it is, whether it answers, and what may be done with it. */
import { useState } from "react";
import { Button } from "@mantine/core";
import {
  TestModelDocument,
  UpdateModelDocument,
  type ModelFragment,
  type ModelsQuery,
  type TestModelMutation,
} from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import type { Refusal } from "../../api/refusal.ts";
import { useAct } from "../../api/use-act.ts";
import { countText } from "../../lib/counts.ts";
import { spentText } from "../../lib/model-usage.ts";
import { llmProblemText } from "../../lib/llm-problems.ts";
import { durationText } from "../../lib/times.ts";
import settings from "./settings.module.css";
import { PROVIDERS } from "./model-input.ts";
import classes from "./models.module.css";
import { useTest } from "./use-test.ts";

type ListedModel = NonNullable<ModelsQuery["modelConnections"]>[number];

type Props = {
  model: ListedModel;
  mayChange: boolean;
  /** Another one may have been the default before. */
  onDefault: () => void;
  onEdit: (model: ModelFragment) => void;
  onEnd: (model: ModelFragment) => void;
};

export function ModelRow({ model, mayChange, onDefault, onEdit, onEnd }: Props) {
  const { id, name, isDefault } = model;
  const [isMade, setIsMade] = useState(false);
  const mutate = useMutate();
  const { run, isBusy, ...outcome } = useTest(
    async () => (await mutate(TestModelDocument, { input: { modelConnectionId: id } })).testModelConnection!,
  );
  return (
    <tr>
      <td>
        <code className={settings["name"]}>{name}</code>
      </td>
      <td>
        {model.model}
        <span className={settings["sub"]}>{sourceOf(model)}</span>
        <div role="status">
          {isBusy ? <p className="dim">Asking the model two short questions…</p> : <Outcome {...outcome} />}
        </div>
      </td>
      <td data-label="Prices and limits">
        <Figures model={model} />
      </td>
      <td data-label="Default">
        {isDefault ? (
          <span tabIndex={-1} ref={isMade ? focusOn : undefined}>
            yes
          </span>
        ) : mayChange ? (
          <MakeDefault
            model={model}
            onDone={() => {
              setIsMade(true);
              onDefault();
            }}
          />
        ) : (
          <span className="dim">no</span>
        )}
      </td>
      {mayChange && (
        <td className={settings["action"]}>
          <Button.Group className={settings["right"]}>
            <Button variant="default" size="compact-sm" aria-label={`Test ${name}`} loading={isBusy} onClick={run}>
              Test
            </Button>
            <Button variant="default" size="compact-sm" aria-label={`Edit ${name}`} onClick={() => onEdit(model)}>
              Edit
            </Button>
            <Button variant="default" size="compact-sm" aria-label={`Delete ${name}`} onClick={() => onEnd(model)}>
              Delete
            </Button>
          </Button.Group>
        </td>
      )}
    </tr>
  );
}

const Figures = ({ model }: { model: ListedModel }) => (
  <>
    {!model.prices && !model.limits && <span className="dim">none</span>}
    {model.prices && <span className={classes["figures"]}>{pricesText(model.prices)}</span>}
    {model.limits && <span className={classes["figures"]}>{limitsText(model)}</span>}
    {spendTexts(model).map((text) => (
      <span key={text} className={settings["sub"]}>
        {text}
      </span>
    ))}
  </>
);

/** The button that had the focus is gone. */
const focusOn = (element: HTMLElement | null): void => element?.focus({ preventScroll: true });

const sourceOf = ({ provider, baseUrl, hasKey, apiKeyHeader }: ModelFragment): string =>
  [
    PROVIDERS[provider] ?? provider,
    ...(baseUrl === null ? [] : [URL.parse(baseUrl)?.host ?? baseUrl]),
    hasKey ? `with a key${apiKeyHeader === null ? "" : ` in ${apiKeyHeader}`}` : "without a key",
  ].join(", ");

const pricesText = ({
  inputPerMillion,
  outputPerMillion,
  cachedInputPerMillion,
  currency,
}: NonNullable<ModelFragment["prices"]>): string =>
  `${inputPerMillion} in, ${outputPerMillion} out${
    cachedInputPerMillion === null ? "" : `, ${cachedInputPerMillion} cached`
  } (${currency} per million tokens)`;

const limitsText = ({ limits, prices }: ModelFragment): string => {
  const { concurrency, tokensPerDay, costPerDay } = limits!;
  return [
    ...(concurrency === null ? [] : [`${countText(concurrency)} at a time`]),
    ...(tokensPerDay === null ? [] : [`${countText(tokensPerDay)} tokens a day`]),
    ...(costPerDay === null ? [] : [`${costPerDay} ${prices?.currency ?? ""} a day`]),
  ].join(", ");
};

/** Today, in UTC, is what the limits of a day go by. */
function spendTexts({ spend }: ListedModel): readonly string[] {
  if (!spend) return [];
  if (spend.length === 0) return ["Not used in the last 7 days"];
  const today = new Date().toISOString().slice(0, 10);
  return [`Today ${spentText(spend.filter(({ date }) => date === today))}`, `In 7 days ${spentText(spend)}`];
}

function MakeDefault({ model: { id, name }, onDone }: { model: ModelFragment; onDone: () => void }) {
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  const make = (): void =>
    void act(async () => {
      await mutate(UpdateModelDocument, { input: { modelConnectionId: id, isDefault: true } });
      onDone();
    });
  return (
    <>
      <Button
        variant="subtle"
        size="compact-sm"
        className={classes["make"]}
        aria-label={`Make default: ${name}`}
        loading={isBusy}
        onClick={make}
      >
        Make default
      </Button>
      {refusal && (
        <p role="alert" className={classes["bad"]}>
          {refusal.message}
        </p>
      )}
    </>
  );
}

type Test = NonNullable<TestModelMutation["testModelConnection"]>;

/** The answer of a test, or why there is none. */
function Outcome({ test, refusal }: { test: Test | undefined; refusal: Refusal | undefined }) {
  const bad =
    refusal?.message ??
    (test?.problem && `The model ${llmProblemText(test.problem)}${test.detail ? `: ${test.detail}` : ""}.`);
  if (bad) return <p className={classes["bad"]}>{bad}</p>;
  return test && <p className={classes["good"]}>{answerText(test)}</p>;
}

const answerText = ({ answeredBy, duration, hasStructuredOutput, hasTools }: Test): string =>
  `${answeredBy ?? "The model"} answered in ${durationText(duration)}. It ${
    hasStructuredOutput ? "takes" : "does not take"
  } a JSON Schema for its answer and ${hasTools ? "calls" : "does not call"} tools.`;
