/** Before the first run of an organization: one agent's form, open, beside what happens when it is sent. */
import { lazy, Suspense, useState } from "react";
import { Link } from "@tanstack/react-router";
import { Button, Skeleton } from "@mantine/core";
import { useQuery } from "urql";
import { FirstVisitDocument, FrameDocument, type AgentRowFragment } from "../../api/documents.ts";
import type { JsonObject } from "../../lib/json.ts";
import classes from "./first-visit.module.css";

// Forms weigh 30 kB, for those who have run nothing yet.
const RunForm = lazy(async () => ({ default: (await import("../../forms/run/run-form.tsx")).RunForm }));

/** The demo agent that shows most: it asks a person. */
const DEMO = "expense-approval";
const SAMPLE: JsonObject = { purpose: "Train to Lyon", amount: 180 };

/** `agents`: all that there are. Nothing is shown once one of them has a run, or after it was sent away. */
export function FirstVisit({ agents }: { agents: readonly AgentRowFragment[] }) {
  const [{ data }] = useQuery({ query: FrameDocument });
  const active = agents.filter(({ status }) => status === "active");
  const agent = active.find(({ handle }) => handle === DEMO) ?? active[0];
  const hasRun = agents.some(({ runs }) => runs.nodes.length > 0);
  if (!agent || hasRun || !data?.caller?.scopes.includes("runs:start")) return null;
  return <Start key={agent.id} id={agent.id} name={agent.name} isDemo={agent.handle === DEMO} />;
}

function Start({ id, name, isDemo }: { id: string; name: string; isDemo: boolean }) {
  const key = `autograph-first-visit-${id}`;
  const [isShown, setIsShown] = useState(() => localStorage.getItem(key) === null);
  const [{ data }] = useQuery({ query: FirstVisitDocument, variables: { id }, pause: !isShown });
  if (!isShown) return null;
  const waiting = <Skeleton height={264} />;
  const dismiss = (): void => {
    localStorage.setItem(key, "dismissed");
    setIsShown(false);
    document.getElementById("page")?.focus();
  };
  return (
    <section className={classes["start"]} aria-labelledby="first-visit">
      <div className={classes["words"]}>
        <h2 id="first-visit">Start here: run {name}</h2>
        <p className={classes["about"]}>{data?.agent?.description}</p>
        <ol>
          <li>The form is made from what the agent takes.{isDemo && " It is filled in with an example."}</li>
          <li>Run it: the next page shows each step as it happens.</li>
          <li>When it has a question, it waits for you there. Read it and approve.</li>
        </ol>
        <span className="line">
          <Link to="/agents/$agentId" params={{ agentId: id }} search={{ by: "words" }} className="link">
            Describe it instead
          </Link>
          <Button variant="default" size="compact-sm" onClick={dismiss}>
            Hide this
          </Button>
        </span>
      </div>
      <div className={classes["form"]}>
        <Suspense fallback={waiting}>
          {data?.agent ? (
            <RunForm agent={data.agent} initial={isDemo ? SAMPLE : undefined} hasCalls={false} />
          ) : (
            waiting
          )}
        </Suspense>
      </div>
    </section>
  );
}
