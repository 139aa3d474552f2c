/** A tool call in an assistant's conversation, folded: with what it was called, and what it answered. */
import { Link } from "@tanstack/react-router";
import { Button } from "@mantine/core";
import type { StepRowFragment } from "../../api/documents.ts";
import { refusalIn } from "../../api/refusal.ts";
import { JsonTable } from "../../components/json-table.tsx";
import { JsonView } from "../../components/json-view.tsx";
import { Loading } from "../../components/loading.tsx";
import { Problem, TryAgain } from "../../components/notice.tsx";
import { StatusMark } from "../../components/status-mark.tsx";
import { argumentsText } from "../../lib/arguments-text.ts";
import { shortId } from "../../lib/ids.ts";
import type { Status } from "../../lib/statuses.ts";
import { durationText } from "../../lib/times.ts";
import { useOpened } from "../../lib/use-opened.ts";
import classes from "./conversation.module.css";
import { tookOf } from "./spans.ts";
import type { Call } from "./turns.ts";
import { useSaid } from "./waits.tsx";

/** A call as the model asked for it. `arguments`: a text if they are no JSON object. */
export type Wish = { id: string; name: string; arguments: unknown };

type Props = {
  wish: Wish;
  /** Undefined: it was not called, as after a limit. */
  call: Call | undefined;
  said: ReadonlyMap<number, string>;
  now: number;
  onChoose: (number: number) => void;
};

export function ToolCall({ wish, call, said, now, onChoose }: Props) {
  const [isOpen, open] = useOpened(wish.id);
  const { tool, question } = call ?? {};
  const took = tool && tookOf(tool, now);
  const decision = question && (said.get(question.number) ?? (question.finishedAt ? undefined : "waits for a person"));
  return (
    <details className={classes["call"]} open={isOpen} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>
        <StatusMark status={statusOf(call)} isBare />
        <code>{wish.name}</code>
        <span className={classes["short"]}>{argumentsText(wish.arguments)}</span>
        {took !== undefined && took !== null && <span className={classes["took"]}>{durationText(took)}</span>}
      </summary>
      {isOpen && (
        <div className={classes["inside"]}>
          {decision && <p>{decision}</p>}
          {tool?.child && (
            <p className="line">
              Started{" "}
              <Link to="/runs/$runId" params={{ runId: tool.child.id }} className="link">
                {shortId(tool.child.id)}
              </Link>
            </p>
          )}
          {tool ? (
            <Called tool={tool} wish={wish} />
          ) : (
            <>
              <Arguments value={wish.arguments} />
              <p className="dim">{question ? notCalled(question) : "Not called."}</p>
            </>
          )}
          {(tool ?? question) && (
            <Button variant="default" size="compact-sm" onClick={() => onChoose((tool ?? question)!.number)}>
              Open step {(tool ?? question)!.number}
            </Button>
          )}
        </div>
      )}
    </details>
  );
}

const notCalled = ({ finishedAt }: StepRowFragment): string =>
  finishedAt === null ? "Not called before a person has decided." : "Not called.";

function statusOf(call: Call | undefined): Status {
  const { tool, question } = call ?? {};
  if (tool) return tool.status;
  if (!question) return "skipped";
  return question.status === "completed" ? "rejected" : question.status;
}

/** As it was called: a person may have changed the arguments. */
function Called({ tool, wish }: { tool: StepRowFragment; wish: Wish }) {
  const isOver = tool.finishedAt !== null;
  const [{ data, error }, readAgain] = useSaid(tool, isOver);
  const input = data?.input as { arguments?: unknown } | null | undefined;
  const isChanged =
    input?.arguments !== undefined && JSON.stringify(input.arguments) !== JSON.stringify(wish.arguments);
  return (
    <>
      <Arguments value={input?.arguments ?? wish.arguments} isChanged={isChanged} />
      {error && <Problem refusal={refusalIn(error)} action={<TryAgain onClick={readAgain} />} />}
      {tool.error && <p className={classes["error"]}>{tool.error.detail ?? tool.error.title}</p>}
      {data && !tool.error && <Answer value={data.output} tool={tool} />}
      {!data && !error && isOver && <Loading label="Loading the answer" lines={2} />}
    </>
  );
}

const Arguments = ({ value, isChanged = false }: { value: unknown; isChanged?: boolean }) => (
  <section aria-label="Arguments">
    <p className="dim">{isChanged ? "Arguments, as a person changed them" : "Arguments"}</p>
    <JsonTable value={value} />
  </section>
);

function Answer({ value, tool: { number } }: { value: unknown; tool: StepRowFragment }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return (
    <section aria-label="Answer">
      <p className="dim">Answer</p>
      <JsonView
        text={text}
        label="answer"
        file={`step-${number}-answer.${typeof value === "string" ? "txt" : "json"}`}
      />
    </section>
  );
}
