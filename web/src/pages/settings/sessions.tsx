/** Where the signed-in person is signed in, and their password. */
import { useState } from "react";
import { Button } from "@mantine/core";
import {
  ChangePasswordDocument,
  RevokeOtherSessionsDocument,
  RevokeSessionDocument,
  SessionsDocument,
  type SessionRowFragment,
} from "../../api/documents.ts";
import { useMutate, useRead } from "../../api/hooks.ts";
import { Confirm } from "../../components/confirm.tsx";
import { List } from "../../components/table/list.tsx";
import { pageIn } from "../../components/table/rows.tsx";
import type { Column } from "../../components/table/table.tsx";
import { Time } from "../../components/time.tsx";
import { CredentialsForm, type TextField } from "../../forms/credentials-form.tsx";
import { ListFoot } from "./list-foot.tsx";
import type { PartProps } from "./part.ts";
import classes from "./settings.module.css";
import { browserOf } from "./user-agent.ts";

const COLUMNS: readonly Column[] = [
  { word: "Session" },
  { word: "From" },
  { word: "Organization" },
  { word: "Opened" },
  { word: "Last seen" },
  { word: "Actions", isSilent: true },
];

const FIELDS: TextField<"currentPassword" | "newPassword">[] = [
  { name: "currentPassword", label: "Current password", autoComplete: "current-password" },
  {
    name: "newPassword",
    label: "New password",
    autoComplete: "new-password",
    hint: "At least 10 characters.",
    minLength: 10,
  },
];

export function Sessions({ caller }: PartProps) {
  const [asked, readAgain] = useRead({ query: SessionsDocument, requestPolicy: "cache-and-network" });
  const mutate = useMutate();
  const [ending, setEnding] = useState<SessionRowFragment | "others">();
  const end = async (): Promise<void> => {
    if (ending === "others") await mutate(RevokeOtherSessionsDocument, {});
    else await mutate(RevokeSessionDocument, { input: { sessionId: ending!.id } });
    readAgain();
  };
  const sessions = asked.data?.sessions?.nodes;
  return (
    <div className={classes["part"]}>
      <div className={classes["head"]}>
        <p>Where you are signed in, in all organizations.</p>
        {sessions && sessions.length > 1 && (
          <Button variant="default" size="compact-md" onClick={() => setEnding("others")}>
            End all others
          </Button>
        )}
      </div>
      <List
        what="the sessions"
        page={pageIn(asked, sessions, readAgain)}
        columns={COLUMNS}
        className={classes["table"]}
        renderRow={(session) => (
          <Row
            key={session.id}
            session={session}
            isHere={session.organization?.id === caller.organization.id}
            onEnd={() => setEnding(session)}
          />
        )}
        below={<ListFoot {...{ asked, readAgain, caller }} />}
      />
      {sessions && <Password onChanged={readAgain} />}
      {ending && (
        <Confirm
          title={ending === "others" ? "End all other sessions?" : "End the session?"}
          verb={ending === "others" ? "End sessions" : "End session"}
          act={end}
          onClose={() => setEnding(undefined)}
        >
          <p>
            {ending === "others"
              ? "Every other browser and program that is signed in as you must sign in again. API keys stay."
              : `${nameOf(ending)} must sign in again.`}
          </p>
        </Confirm>
      )}
    </div>
  );
}

const nameOf = ({ client, userAgent }: SessionRowFragment): string =>
  client === "ui" ? browserOf(userAgent) : `A program${userAgent ? ` (${userAgent.slice(0, 40)})` : ""}`;

function Row({ session, isHere, onEnd }: { session: SessionRowFragment; isHere: boolean; onEnd: () => void }) {
  const { address, organization, createdAt, refreshedAt, isCurrent, userAgent } = session;
  return (
    <tr>
      <td title={userAgent ?? undefined}>
        <span className={classes["name"]}>{nameOf(session)}</span>
        {isCurrent && <span className={classes["tag"]}>this one</span>}
      </td>
      <td data-label="From">{address ?? "unknown"}</td>
      <td className={isHere ? "dim" : undefined}>{organization?.name ?? "one that you left"}</td>
      <td data-label="Opened" className={classes["when"]}>
        <Time at={createdAt} />
      </td>
      <td data-label="Last seen" className={classes["when"]}>
        <Time at={refreshedAt} />
      </td>
      <td className={classes["action"]}>
        {!isCurrent && (
          <Button variant="default" size="compact-sm" aria-label={`End ${nameOf(session)}`} onClick={onEnd}>
            End
          </Button>
        )}
      </td>
    </tr>
  );
}

function Password({ onChanged }: { onChanged: () => void }) {
  const mutate = useMutate();
  /** How often it was changed: each change empties the fields. */
  const [count, setCount] = useState(0);
  return (
    <section className={classes["section"]} aria-labelledby="password">
      <h2 id="password">Change password</h2>
      <p className="dim">This ends your other sessions and signs out anyone who knows the old password.</p>
      <div role="status">{count > 0 && <p>Your password is changed. All other sessions have ended.</p>}</div>
      <div className={classes["form"]}>
        <CredentialsForm
          key={count}
          fields={FIELDS}
          verb="Change password"
          isBeside
          send={async (input) => {
            await mutate(ChangePasswordDocument, { input });
            setCount(count + 1);
            onChanged();
          }}
        />
      </div>
    </section>
  );
}
