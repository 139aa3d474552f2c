/** The inbox, oldest first: read, decide, next. */
import { useCallback, useEffect, useEffectEvent, useMemo, useRef } from "react";
import { Link, useNavigate } from "@tanstack/react-router";
import {
  ApprovalsChangedDocument,
  ApprovalsDocument,
  LinkedApprovalDocument,
  MissedApprovalsDocument,
  type ApprovalCardFragment,
  type ApprovalStatus,
  type MissedApprovalsQuery,
} from "../../api/documents.ts";
import { useApi, useAsked, useLive, useRead } from "../../api/hooks.ts";
import { refusalIn } from "../../api/refusal.ts";
import { useMay } from "../../api/use-may.ts";
import { ApprovalCard } from "../../forms/approval/approval-card.tsx";
import { isAssigned } from "../../forms/approval/who.ts";
import { Loading } from "../../components/loading.tsx";
import { Empty, Problem, TryAgain } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { List } from "../../components/table/list.tsx";
import { useFresh } from "../../components/table/use-fresh.ts";
import { usePages, type PagesRead } from "../../components/table/use-pages.ts";
import { Tabs } from "../../components/tabs.tsx";
import { ApprovalRow, columnsOf } from "./approval-row.tsx";
import classes from "./approvals.module.css";
import { useInboxKeys } from "./use-inbox-keys.ts";

/** `open`: the id of the approval that is open. */
export type ApprovalsSearch = { project?: string | undefined; show?: "mine" | "decided"; open?: string };

const ROW_PX = 36;
const OPEN: ApprovalStatus[] = ["open"];
const DECIDED: ApprovalStatus[] = ["approved", "rejected", "expired", "withdrawn"];

export function Approvals({ search }: { search: ApprovalsSearch }) {
  const { show = "all" } = search;
  const isDecided = show === "decided";
  return (
    <div className="stack">
      <PageHead title="Approvals" />
      <Tabs
        label="Approvals"
        chosen={show}
        tabs={[
          { name: "all", word: "All open", link: { to: "/approvals", search: {} } },
          { name: "mine", word: "Mine", link: { to: "/approvals", search: { show: "mine" } } },
          { name: "decided", word: "Decided", link: { to: "/approvals", search: { show: "decided" } } },
        ]}
      >
        <Inbox key={`${search.show} ${search.project}`} search={search} isDecided={isDecided} />
      </Tabs>
    </div>
  );
}

const filterOf = (status: ApprovalStatus[], project: string | undefined, isMine: boolean): Filter => ({
  status,
  ...(project && { projectId: [project] }),
  ...(isMine && { assignedToMe: true }),
});

function Inbox({ search: { project, show, open }, isDecided }: { search: ApprovalsSearch; isDecided: boolean }) {
  const of = (status: ApprovalStatus[]): Filter => filterOf(status, project, show === "mine");
  const filter = of(isDecided ? DECIDED : OPEN);
  const pages = usePages({
    name: `approvals ${JSON.stringify(filter)}`,
    rowPx: ROW_PX,
    query: ApprovalsDocument,
    variablesOf: (page) => ({ filter, direction: isDecided ? ("desc" as const) : ("asc" as const), ...page }),
    connectionOf: ({ approvals }) => approvals,
  });
  const { items, table, isWhole } = pages;
  const { fresh, showFresh } = useFreshApprovals({ pages, isDecided, open: of(OPEN), decided: of(DECIDED) });
  const navigate = useNavigate();
  const { decisions } = useApi();
  const openOne = (id: string | undefined): void =>
    void navigate({
      to: "/approvals",
      search: { ...(show && { show }), ...(id && { open: id }) },
      replace: true,
      resetScroll: false,
    });
  const shown = items.find(({ id }) => id === open);
  const focusOn = useInboxKeys({ list: table, openId: open, isWaiting: shown?.status === "open" });
  const openNext = (id: string): void => {
    const at = items.findIndex((one) => one.id === id);
    const next = items.find((one, index) => index > at && one.status === "open" && !decisions.of(one.id));
    openOne(next?.id);
    focusOn(next?.id ?? id);
  };
  // The same ones always: a line is drawn again only when its approval changes.
  const latest = useRef({ open, openOne, openNext });
  useEffect(() => void (latest.current = { open, openOne, openNext }));
  const toggle = useCallback((id: string): void => {
    const now = latest.current;
    now.openOne(id === now.open ? undefined : id);
  }, []);
  const made = useCallback((id: string): void => latest.current.openNext(id), []);
  return (
    <div className={classes["list"]}>
      <List
        what="the approvals"
        pages={pages}
        columns={columnsOf(isDecided)}
        className={classes["table"]}
        fresh={{ count: fresh, onShow: showFresh }}
        empty={<None show={show} />}
        renderRow={(approval) => (
          <ApprovalRow
            key={approval.id}
            approval={approval}
            isOpen={approval.id === open}
            onToggle={toggle}
            onMade={made}
          />
        )}
        above={open && !shown && (isWhole || items.length > 0) && <Linked key={open} id={open} />}
      />
    </div>
  );
}

const None = ({ show }: { show: ApprovalsSearch["show"] | undefined }) =>
  show === "decided" ? <NoneDecided /> : show === "mine" ? <NoneOfMine /> : <NoneOpen />;

const NoneDecided = () => (
  <Empty title="No decisions yet">
    <p>Each decision stays here, with who made it and what they said.</p>
    <Link to="/approvals" search={{}} className="link">
      Open approvals
    </Link>
  </Empty>
);

const NoneOfMine = () => (
  <Empty title="Nothing waits for you">
    <p>
      An approval that names you or your role shows up here at once. One that names nobody is decided by anyone who may.
    </p>
    <Link to="/approvals" search={{}} className="link">
      All open approvals
    </Link>
  </Empty>
);

const NoneOpen = () => (
  <Empty title="No approvals waiting">
    <p>A run that asks a person shows up here at once.</p>
    <Link to="/agents" className="link">
      All agents
    </Link>
  </Empty>
);

/** The one that a link is about, where the list does not have it: it has been decided, or is further down. */
function Linked({ id }: { id: string }) {
  const [{ data, error }, readAgain] = useRead({ query: LinkedApprovalDocument, variables: { id } });
  if (data?.approval) return <ApprovalCard approval={data.approval} keys="card" />;
  if (!error) return data ? null : <Loading label="Loading the approval" lines={3} />;
  const refusal = refusalIn(error);
  const again = <TryAgain onClick={readAgain} />;
  return <Problem refusal={refusal} action={refusal.code === "NOT_FOUND" ? undefined : again} />;
}

type Filter = { status: ApprovalStatus[]; projectId?: string[]; assignedToMe?: boolean };
type FreshOf = {
  pages: PagesRead<ApprovalCardFragment>;
  isDecided: boolean;
  open: Filter;
  decided: Filter;
};

/** The approvals that have come to the list meanwhile. Lines that were seen stay where they are, with what became of them. */
function useFreshApprovals({ pages, isDecided, open, decided }: FreshOf) {
  const fresh = useFresh();
  const { me } = useMay();
  const { items, isWhole } = pages;
  const belongs = (approval: ApprovalCardFragment): boolean =>
    !open.assignedToMe || (me !== undefined && isAssigned(approval, me));
  const known = useMemo(() => new Set(items.map(({ id }) => id)), [items]);
  const showFresh = (): void => {
    fresh.clear();
    pages.readAgain({ fromStart: true });
  };
  const add = (ids: readonly string[]): void => {
    const more = ids.filter((id) => !known.has(id));
    if (more.length === 0) return;
    // Where there is nothing yet, nothing moves.
    if (items.length === 0) showFresh();
    else for (const id of more) fresh.add(id);
  };
  const [missed, readMissed] = useAsked(MissedApprovalsDocument);
  const taken = useEffectEvent((answer: MissedApprovalsQuery): void => {
    const found = (isDecided ? answer.decided : answer.open)?.nodes ?? [];
    // Below those that were read there are others that are not new.
    add(found.slice(0, isWhole ? found.length : items.length).map(({ id }) => id));
  });
  useEffect(() => {
    if (missed) taken(missed);
  }, [missed]);
  useLive(
    ApprovalsChangedDocument,
    { projectId: open.projectId?.[0] ?? null },
    {
      onMissed: () => readMissed({ open, decided }),
      onData: ({ approvalsChanged: approval }) => {
        const { id, status } = approval;
        const isHere = (status === "open") !== isDecided && belongs(approval);
        // The newest open ones are at the end, the newest decided ones at the beginning.
        if (isHere && (isDecided || isWhole)) add([id]);
        else if (!isHere) fresh.drop(id);
      },
    },
  );
  return { fresh: fresh.count, showFresh };
}
