/** Credentials for programs: which there are, what they may do, when they were last used. */
import { useState, type ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Button } from "@mantine/core";
import {
  KeysDocument,
  RevokeKeyDocument,
  type CreateKeyMutation,
  type KeyRowFragment,
  type KeysQuery,
} from "../../api/documents.ts";
import { useMutate, useRead } from "../../api/hooks.ts";
import { Confirm } from "../../components/confirm.tsx";
import { Empty } from "../../components/notice.tsx";
import { StatusMark } from "../../components/status-mark.tsx";
import { List } from "../../components/table/list.tsx";
import { pageIn } from "../../components/table/rows.tsx";
import type { Column } from "../../components/table/table.tsx";
import { Time } from "../../components/time.tsx";
import { useNow } from "../../lib/use-now.ts";
import { CreateKey } from "./create-key.tsx";
import { ListFoot } from "./list-foot.tsx";
import { MadeKey } from "./made-key.tsx";
import type { PartProps } from "./part.ts";
import classes from "./settings.module.css";

const COLUMNS: readonly Column[] = [
  { word: "Key" },
  { word: "May" },
  { word: "Where" },
  { word: "Last used" },
  { word: "Expires" },
  { word: "State" },
  { word: "Actions", isSilent: true },
];

type Presets = NonNullable<KeysQuery["apiKeyPresets"]>;

/** How late the list may say that a key has expired. */
const EXPIRY_EVERY_MS = 30_000;

export function Keys({ caller, search: { after, make } }: PartProps) {
  const [asked, readAgain] = useRead({
    query: KeysDocument,
    variables: { after: after ?? null },
    requestPolicy: "cache-and-network",
  });
  const { data } = asked;
  const navigate = useNavigate();
  const [made, setMade] = useState<NonNullable<CreateKeyMutation["createApiKey"]>>();
  const [ending, setEnding] = useState<KeyRowFragment>();
  const show = (isMaking: boolean): void =>
    void navigate({ to: "/settings/$part", params: { part: "keys" }, search: isMaking ? { make: true } : {} });
  const presets = data?.apiKeyPresets ?? [];
  const keys = data?.apiKeys?.nodes;

  if (made) return <MadeKey made={made} onClose={() => setMade(undefined)} />;
  if (make && data)
    return (
      <CreateKey
        caller={caller}
        presets={presets}
        onMade={(one) => {
          setMade(one);
          show(false);
          readAgain();
        }}
        onClose={() => show(false)}
      />
    );
  return (
    <div className={classes["part"]}>
      <div className={classes["head"]}>
        <p>Programs sign in with an API key. It can do only what you allow.</p>
        {keys && keys.length > 0 && <Button onClick={() => show(true)}>Create key</Button>}
      </div>
      <List
        what="the API keys"
        page={pageIn(asked, keys, readAgain)}
        columns={COLUMNS}
        className={classes["table"]}
        renderRow={(key) => <KeyRow key={key.id} apiKey={key} presets={presets} onEnd={setEnding} />}
        inTables={byState}
        empty={<NoKeys onCreate={() => show(true)} />}
        below={
          <ListFoot
            {...{ asked, readAgain, caller }}
            isEmpty={keys?.length === 0}
            pages={{ part: "keys", after, next: data?.apiKeys?.pageInfo }}
          />
        }
      />
      {ending && <RevokeKey apiKey={ending} onRevoked={readAgain} onClose={() => setEnding(undefined)} />}
    </div>
  );
}

const NoKeys = ({ onCreate }: { onCreate: () => void }) => (
  <Empty title="No API keys yet">
    <p>A program needs one to start runs. Give it only what it needs, such as one agent.</p>
    <Button onClick={onCreate}>Create key</Button>
  </Empty>
);

type RevokeProps = { apiKey: KeyRowFragment; onRevoked: () => void; onClose: () => void };

function RevokeKey({ apiKey: { id, name, hint, lastUsedAt }, onRevoked, onClose }: RevokeProps) {
  const mutate = useMutate();
  const revoke = async (): Promise<void> => {
    await mutate(RevokeKeyDocument, { input: { apiKeyId: id } });
    onRevoked();
  };
  return (
    <Confirm title={`Revoke ${name}?`} verb="Revoke key" act={revoke} onClose={onClose}>
      <p>
        Programs that use the key ending in <code>{hint}</code> are refused at once, for good.{" "}
        {lastUsedAt ? (
          <>
            It was last used <Time at={lastUsedAt} />.
          </>
        ) : (
          "It was never used."
        )}
      </p>
    </Confirm>
  );
}

/** The revoked ones are folded. */
function byState(keys: readonly KeyRowFragment[], tableOf: (some: readonly KeyRowFragment[]) => ReactNode) {
  const [revoked, others] = [keys.filter(({ revokedAt }) => revokedAt), keys.filter(({ revokedAt }) => !revokedAt)];
  return (
    <>
      {others.length > 0 ? tableOf(others) : <p className="dim">No active keys.</p>}
      {revoked.length > 0 && (
        <details className={classes["folded"]}>
          <summary>Revoked ({revoked.length})</summary>
          {tableOf(revoked)}
        </details>
      )}
    </>
  );
}

type RowProps = { apiKey: KeyRowFragment; presets: Presets; onEnd: (key: KeyRowFragment) => void };

function KeyRow({ apiKey, presets, onEnd }: RowProps) {
  const { name, hint, createdBy, scopes, lastUsedAt, expiresAt } = apiKey;
  const state = stateOf(apiKey, useNow(EXPIRY_EVERY_MS));
  return (
    <tr className={state === "active" ? undefined : classes["ended"]}>
      <td>
        <span className={classes["name"]}>{name}</span>
        <span className={classes["sub"]}>
          <code>…{hint}</code> by {createdBy.name}
        </span>
      </td>
      <td title={scopes.join(", ")}>{mayOf(apiKey, presets)}</td>
      <td data-label="Where" className={classes["where"]}>
        {whereOf(apiKey)}
      </td>
      <td data-label="Last used" className={classes["when"]}>
        {lastUsedAt ? <Time at={lastUsedAt} /> : <span className="dim">never</span>}
      </td>
      <td data-label="Expires" className={classes["when"]}>
        {expiresAt ? <Time at={expiresAt} /> : <span className="dim">never</span>}
      </td>
      <td>
        <StatusMark status={state} />
      </td>
      <td className={classes["action"]}>
        {state === "active" && (
          <Button variant="default" size="compact-sm" aria-label={`Revoke ${name}`} onClick={() => onEnd(apiKey)}>
            Revoke
          </Button>
        )}
      </td>
    </tr>
  );
}

function stateOf({ revokedAt, expiresAt }: KeyRowFragment, now: number): "active" | "revoked" | "expired" {
  if (revokedAt) return "revoked";
  return expiresAt && Date.parse(expiresAt) <= now ? "expired" : "active";
}

/** The preset's name if it has one's scopes, else these. */
function mayOf({ scopes }: KeyRowFragment, presets: Presets): string {
  const found = presets.find(
    (one) => one.scopes.length === scopes.length && one.scopes.every((s) => scopes.includes(s)),
  );
  return found?.title ?? scopes.join(", ");
}

function whereOf({ projects, agents }: KeyRowFragment): string {
  if (!projects && !agents) return "whole organization";
  const parts = [...(projects ?? []).map(({ name }) => `project ${name}`), ...(agents ?? []).map(({ name }) => name)];
  const [first, second, ...more] = parts;
  if (!first) return "nothing that is left";
  return [first, ...(second ? [second] : [])].join(", ") + (more.length > 0 ? ` and ${more.length} more` : "");
}
