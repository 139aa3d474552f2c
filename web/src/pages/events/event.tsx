/** One event: what it brought, what it started, and why the other triggers of its source stayed still. */
import { useEffect, useEffectEvent } from "react";
import { Link } from "@tanstack/react-router";
import {
  EventPageDocument,
  FiringsChangedDocument,
  OlderEventFiringsDocument,
  type EventFiringsFragment,
  type FiringOutcome,
} from "../../api/documents.ts";
import { useLive, useRead } from "../../api/hooks.ts";
import { refusalIn, type Refusal } from "../../api/refusal.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { Icon, SHAPES } from "../../components/icon.tsx";
import { JsonTable } from "../../components/json-table.tsx";
import { Loading } from "../../components/loading.tsx";
import { Empty, Problem, TryAgain } from "../../components/notice.tsx";
import { Older, useOlder } from "../../components/older.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { StatusMark } from "../../components/status-mark.tsx";
import { Time } from "../../components/time.tsx";
import { shortId } from "../../lib/ids.ts";
import classes from "./events.module.css";

const READ_AGAIN_AFTER_MS = 1_000;

export function Event({ id }: { id: string }) {
  const [{ data, error }, readAgain] = useRead({
    query: EventPageDocument,
    variables: { id },
    requestPolicy: "cache-and-network",
  });
  const event = data?.event;
  useAwaited(event, readAgain);
  if (!event) return <Unread refusal={error && refusalIn(error)} onAgain={readAgain} />;
  const { source, event: name, sourceId, at, publishedBy, matches, misses, firings } = event;
  return (
    <div className="stack">
      <PageHead
        path={[IN_EVENTS, { word: source, to: "/events", search: { source } }]}
        title={name}
        facts={
          <>
            <code>{sourceId}</code>
            <span>
              published by {publishedBy.name}, <Time at={at} isMoment />
            </span>
          </>
        }
      />
      <Started eventId={id} firings={firings} />
      <section aria-label="Triggers of its source" className={classes["part"]}>
        <h2>Triggers of its source, as they are now</h2>
        {matches.length + misses.length === 0 && (
          <p className="dim">No trigger waits for an event of {source}. An agent's page has “Add a trigger”.</p>
        )}
        <ul className={classes["lines"]}>
          {matches.map((trigger) => (
            <li key={trigger.id}>
              <Icon shape={SHAPES.check} />
              <span>
                <TriggerName trigger={trigger} /> matches
                {trigger.status === "active" ? "." : `, but it is ${trigger.status}: it starts nothing.`}
              </span>
            </li>
          ))}
          {misses.map(({ trigger, reason }) => (
            <li key={trigger.id}>
              <Icon shape={SHAPES.close} className="dim" />
              <span>
                <TriggerName trigger={trigger} /> does not match: <span className="dim">{reason}.</span>
              </span>
            </li>
          ))}
        </ul>
      </section>
      <section aria-label="Data" className={classes["part"]}>
        <h2>Data</h2>
        <JsonTable value={event.data} />
        <div>
          <CopyButton label="Copy the data" text={JSON.stringify(event.data, null, 2)} />
        </div>
      </section>
    </div>
  );
}

/** Live: the newest; older ones when they are asked for. */
function Started({ eventId, firings }: { eventId: string; firings: EventFiringsFragment }) {
  const { shown, older } = useOlder({
    id: eventId,
    newest: firings,
    query: OlderEventFiringsDocument,
    pageOf: ({ event }) => event!.firings,
  });
  return (
    <section aria-label="What it started" className={classes["part"]}>
      <h2>What it started</h2>
      {firings.nodes.length === 0 && (
        <p className="dim">Nothing: no trigger matched when it was published. Below is why.</p>
      )}
      <ul className={classes["lines"]}>
        {shown.map(({ id, outcome, message, trigger, run }) => (
          <li key={id}>
            <StatusMark status={outcome} isBare />
            <span>
              {trigger ? <TriggerName trigger={trigger} /> : "A trigger that was deleted"} {SAID[outcome]}
              {run && (
                <>
                  {" "}
                  <Link to="/runs/$runId" params={{ runId: run.id }} className="link">
                    {shortId(run.id)}
                  </Link>
                </>
              )}
              {message && <span className="dim">: {message}</span>}
            </span>
            {run && (
              <span className={classes["end"]}>
                <StatusMark status={run.status} />
              </span>
            )}
          </li>
        ))}
      </ul>
      <Older word="Older firings" older={older} />
    </section>
  );
}

const IN_EVENTS = { word: "Events", to: "/events" } as const;

/** The outcome of a firing, as the rest of a sentence about its trigger. */
const SAID: Record<FiringOutcome, string> = {
  started: "started",
  skipped: "was skipped",
  refused: "was refused",
  duplicate: "had started before:",
};

function Unread({ refusal, onAgain }: { refusal: Refusal | undefined; onAgain: () => void }) {
  return (
    <div className="stack">
      <PageHead path={[IN_EVENTS]} title="Event" />
      {!refusal && <Loading label="Loading the event" />}
      {refusal?.code === "NOT_FOUND" && (
        <Empty title="There is no such event">
          <p>It may belong to another organization or have been deleted.</p>
          <Link to="/events" className="link">
            All events
          </Link>
        </Empty>
      )}
      {refusal && refusal.code !== "NOT_FOUND" && <Problem refusal={refusal} action={<TryAgain onClick={onAgain} />} />}
    </div>
  );
}

type Read = { matches: readonly { id: string }[]; firings: EventFiringsFragment } | null | undefined;

/** An event is answered for before its triggers have fired: the page may be read in between. */
function useAwaited(event: Read, readAgain: () => void): void {
  const fired = new Set(event?.firings.nodes.map(({ trigger }) => trigger?.id));
  const awaited = event?.matches.filter(({ id }) => !fired.has(id)).map(({ id }) => id) ?? [];
  const isAwaited = awaited.length > 0;
  useLive(
    FiringsChangedDocument,
    { agentId: null },
    {
      pause: !isAwaited,
      onMissed: readAgain,
      onData: ({ firingsChanged: { trigger } }) => trigger && awaited.includes(trigger.id) && readAgain(),
    },
  );
  const again = useEffectEvent(readAgain);
  // Firings from before the subscription was open.
  useEffect(() => {
    if (!isAwaited) return undefined;
    const timer = setTimeout(() => again(), READ_AGAIN_AFTER_MS);
    return () => clearTimeout(timer);
  }, [isAwaited]);
}

type Named = { name: string; agent: { id: string; name: string } };

const TriggerName = ({ trigger: { name, agent } }: { trigger: Named }) => (
  <Link to="/agents/$agentId" params={{ agentId: agent.id }} search={{ tab: "triggers" }} className="link">
    {agent.name} / {name}
  </Link>
);
