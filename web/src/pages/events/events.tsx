/** The events that were published: which triggers they matched, which not, and why. */
import { useMemo } from "react";
import { Link, useNavigate } from "@tanstack/react-router";
import { Button } from "@mantine/core";
import { EventsChangedDocument, EventsDocument } from "../../api/documents.ts";
import { useLive } from "../../api/hooks.ts";
import { useMay } from "../../api/use-may.ts";
import { Empty } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { List } from "../../components/table/list.tsx";
import { useFresh } from "../../components/table/use-fresh.ts";
import { useListKeys } from "../../components/table/use-list-keys.ts";
import { usePages } from "../../components/table/use-pages.ts";
import { WithKey } from "../../components/with-key.tsx";
import { ToCopy } from "../../components/to-copy.tsx";
import { COLUMNS, EventRow } from "./event-row.tsx";
import { quoted } from "../../lib/curl.ts";
import classes from "./events.module.css";
import { PublishEvent } from "./publish-event.tsx";

/** `publish`: the form for a test event is open. */
export type EventsSearch = { source?: string; publish?: true };

const ROW_PX = 36;

export function Events({ search: { source, publish } }: { search: EventsSearch }) {
  const navigate = useNavigate();
  const mayPublish = useMay().may("events:write");
  const ofSource = source ? { source } : {};
  const toggle = (): void =>
    void navigate({
      to: "/events",
      search: publish ? ofSource : { ...ofSource, publish: true },
      replace: true,
      resetScroll: false,
    });
  return (
    <div className="stack">
      <PageHead title="Events">
        {mayPublish && (
          <Button variant="default" size="compact-md" aria-expanded={publish === true} onClick={toggle}>
            Publish a test event
          </Button>
        )}
      </PageHead>
      {mayPublish && publish && <PublishEvent />}
      {source && (
        <p>
          Only of <strong>{source}</strong>.{" "}
          <Link to="/events" search={{}} className="link">
            Show all
          </Link>
        </p>
      )}
      <SourceEvents key={source} source={source} />
    </div>
  );
}

function SourceEvents({ source }: { source: string | undefined }) {
  const pages = usePages({
    name: `events ${source}`,
    rowPx: ROW_PX,
    query: EventsDocument,
    variablesOf: (page) => ({ filter: source ? { source: [source] } : null, ...page }),
    connectionOf: ({ events }) => events,
  });
  const fresh = useFresh();
  const { items, table, isEmpty } = pages;
  const known = useMemo(() => new Set(items.map(({ id }) => id)), [items]);
  const showFresh = (): void => {
    fresh.clear();
    pages.readAgain({ fromStart: true });
    scrollTo({ top: 0 });
  };
  useLive(
    EventsChangedDocument,
    {},
    {
      onMissed: pages.readAgain,
      onData: ({ eventsChanged }) => {
        if (known.has(eventsChanged.id) || (source && eventsChanged.source !== source)) return;
        // Where there is nothing yet, nothing moves.
        if (isEmpty) showFresh();
        else if (items.length > 0) fresh.add(eventsChanged.id);
      },
    },
  );
  useListKeys({ list: table });
  return (
    <div>
      <List
        what="the events"
        pages={pages}
        columns={COLUMNS}
        className={classes["events"]}
        fresh={{ count: fresh.count, onShow: showFresh }}
        empty={<NoEvents source={source} />}
        renderRow={(event) => <EventRow key={event.id} event={event} />}
      />
    </div>
  );
}

const NoEvents = ({ source }: { source: string | undefined }) => (
  <Empty title={source ? `No events from ${source}` : "No events yet"}>
    <p>
      An event starts every agent with a trigger that matches it. Publish one from a shell, with <WithKey />:
    </p>
    <ToCopy
      text={`npx autograph event send ${source ? quoted(source) : "shop"} order.created --id order-1 --data '{}'`}
      label="Copy the command"
    />
  </Empty>
);
