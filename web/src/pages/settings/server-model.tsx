/** The language model that reads sentences: what the operator configured, and whether it answers. */
import { Button } from "@mantine/core";
import type { UseQueryState } from "urql";
import { TestLlmDocument, type LlmQuery, type LlmStateFragment } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { Refusal, refusalIn } from "../../api/refusal.ts";
import { Loading } from "../../components/loading.tsx";
import { Icon, SHAPES } from "../../components/icon.tsx";
import { Empty, Problem, TryAgain } from "../../components/notice.tsx";
import { ToCopy } from "../../components/to-copy.tsx";
import { llmProblemText } from "../../lib/llm-problems.ts";
import { durationText } from "../../lib/times.ts";
import settings from "./settings.module.css";
import classes from "./server-model.module.css";
import { useTest } from "./use-test.ts";

type Props = { asked: Pick<UseQueryState<LlmQuery>, "data" | "error">; readAgain: () => void };

export function ServerModel({ asked: { data, error }, readAgain }: Props) {
  const connection = data?.llm;
  return (
    <section className={settings["section"]} aria-labelledby="server-model">
      <h2 id="server-model">The server’s model</h2>
      <p className={settings["lead"]}>
        It reads the sentences of all projects without a default of their own. The operator of the server configures it.
      </p>
      {error && <Problem refusal={refusalIn(error)} action={<TryAgain onClick={readAgain} />} />}
      {!connection && !error && <Loading label="Loading the language model" lines={5} />}
      {connection && (connection.isConfigured ? <Configured connection={connection} /> : <Missing />)}
    </section>
  );
}

const SNIPPET = `LLM_BASE_URL=https://api.example.com/v1
LLM_MODEL=name-of-the-model
LLM_API_KEY=your-key`;

const Missing = () => (
  <Empty title="No language model yet">
    <p className={classes["words"]}>
      Sentences are read by rules, which know English only. A model reads them in any language; what it says is checked,
      and a person still reviews every draft.
    </p>
    <p className={classes["words"]}>
      Put these into the server’s environment, or into the file <code>.env</code> where it starts, and restart it. Any
      OpenAI-compatible API works. A model on the server’s own machine, such as Ollama’s at{" "}
      <code>http://127.0.0.1:11434/v1</code>, needs no key.
    </p>
    <div className={classes["snippet"]}>
      <ToCopy text={SNIPPET} label="Copy the settings" />
    </div>
  </Empty>
);

function Configured({ connection: { host, model, hasKey } }: { connection: LlmStateFragment }) {
  const mutate = useMutate();
  const { run, test, isBusy, refusal } = useTest(async () => (await mutate(TestLlmDocument, {})).testLlm!.test!);
  return (
    <>
      {host === null ? (
        <p className={classes["words"]}>
          Configured by the operator. Only the operator’s organization sees which model it is.
        </p>
      ) : (
        <dl className={settings["facts"]}>
          <div>
            <dt>Model</dt>
            <dd>{model}</dd>
          </div>
          <div>
            <dt>Host</dt>
            <dd>{host}</dd>
          </div>
          <div>
            <dt>Key</dt>
            <dd>{hasKey ? "set, never shown" : "none"}</dd>
          </div>
        </dl>
      )}
      <div className={settings["buttons"]}>
        <Button variant="default" loading={isBusy} onClick={run}>
          Test the connection
        </Button>
      </div>
      <div role="status">
        {isBusy && <p className="dim">Asking the model a short question…</p>}
        {test && !test.problem && (
          <p className={classes["good"]}>
            <Icon shape={SHAPES.check} />
            <span>The model answered in {durationText(test.duration)}.</span>
          </p>
        )}
      </div>
      {test?.problem && <Failed problem={test.problem} detail={test.detail} isOperator={host !== null} />}
      {refusal && <Problem refusal={refusal} />}
    </>
  );
}

/** The advice for the operator. */
const ADVICE: Readonly<Record<string, string>> = {
  unreachable: "Check LLM_BASE_URL, and whether the server reaches it.",
  unauthorized: "Check LLM_API_KEY.",
  not_found: "Check LLM_BASE_URL, which often ends in /v1, and LLM_MODEL.",
  failed: "Check LLM_BASE_URL and LLM_MODEL.",
  unusable: "Try another model.",
};

type FailedProps = { problem: string; detail: string | null; isOperator: boolean };

const Failed = ({ problem, detail, isOperator }: FailedProps) => (
  <Problem
    refusal={new Refusal(`The model ${llmProblemText(problem)}.`)}
    action={
      <p>
        {detail && `Response: ${detail}. `}
        {isOperator ? ADVICE[problem] : "The operator of the server can check it."} Until it answers, sentences are read
        by rules.
      </p>
    }
  />
);
