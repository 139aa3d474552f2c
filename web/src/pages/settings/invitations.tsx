import { useId, useState, type SubmitEvent } from "react";
import { Button, NativeSelect, TextInput } from "@mantine/core";
import type { CombinedError } from "urql";
import {
  InviteMemberDocument,
  RevokeInvitationDocument,
  type InvitationRowFragment,
  type InvitationsQuery,
  type InviteMemberMutation,
  type Role,
} from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { useAct } from "../../api/use-act.ts";
import { Confirm } from "../../components/confirm.tsx";
import { Problem } from "../../components/notice.tsx";
import { List } from "../../components/table/list.tsx";
import { pageIn } from "../../components/table/rows.tsx";
import type { Column } from "../../components/table/table.tsx";
import { Time } from "../../components/time.tsx";
import { ToCopy } from "../../components/to-copy.tsx";
import { rolesToGive, WHAT_ROLES_DO } from "./roles.ts";
import classes from "./settings.module.css";
import type { Caller } from "./use-caller.ts";

const COLUMNS: readonly Column[] = [
  { word: "For" },
  { word: "Role" },
  { word: "By" },
  { word: "Expires" },
  { word: "Actions", isSilent: true },
];

type Props = {
  caller: Caller;
  asked: { data?: InvitationsQuery; error?: CombinedError };
  readAgain: () => void;
};
type Made = NonNullable<InviteMemberMutation["inviteMember"]>;

/** Links that make the person who opens them a member. */
export function Invitations({ caller, asked, readAgain }: Props) {
  const [made, setMade] = useState<Made>();
  const [ending, setEnding] = useState<InvitationRowFragment>();
  const mutate = useMutate();
  const revoke = async (invitationId: string): Promise<void> => {
    await mutate(RevokeInvitationDocument, { input: { invitationId } });
    if (made?.id === invitationId) setMade(undefined);
    readAgain();
  };
  return (
    <section className={classes["section"]} aria-labelledby="invitations">
      <h2 id="invitations">Invitations</h2>
      <p className="dim">
        A link that works once, within 7 days. With an e-mail, it is also mailed if this server sends mail.
      </p>
      <Invite
        caller={caller}
        onMade={(one) => {
          setMade(one);
          readAgain();
        }}
      />
      {made?.url && (
        <div className={classes["once"]} role="status">
          <p>
            The link for {made.email ?? "anyone who has it"}, as {made.role}. It is shown only once.
          </p>
          <p>{made.isMailed ? `It was also mailed to ${made.email}.` : "It was not mailed: pass it on yourself."}</p>
          <ToCopy text={made.url} label="Copy the link" />
        </div>
      )}
      <List
        what="the invitations"
        page={pageIn(asked, asked.data?.invitations?.nodes, readAgain)}
        columns={COLUMNS}
        className={classes["table"]}
        renderRow={(invitation) => (
          <InvitationRow key={invitation.id} invitation={invitation} onEnd={() => setEnding(invitation)} />
        )}
      />
      {ending && (
        <Confirm
          title="Revoke the invitation?"
          verb="Revoke invitation"
          act={() => revoke(ending.id)}
          onClose={() => setEnding(undefined)}
        >
          <p>The link for {ending.email ?? "anyone who has it"} stops working at once.</p>
        </Confirm>
      )}
    </section>
  );
}

const InvitationRow = ({ invitation, onEnd }: { invitation: InvitationRowFragment; onEnd: () => void }) => (
  <tr>
    <td>{invitation.email ?? "anyone with the link"}</td>
    <td>{invitation.role}</td>
    <td data-label="By">{invitation.createdBy.name}</td>
    <td data-label="Expires" className={classes["when"]}>
      <Time at={invitation.expiresAt} />
    </td>
    <td className={classes["action"]}>
      <Button
        variant="default"
        size="compact-sm"
        aria-label={`Revoke the invitation for ${invitation.email ?? "anyone with the link"}`}
        onClick={onEnd}
      >
        Revoke
      </Button>
    </td>
  </tr>
);

function Invite({ caller, onMade }: { caller: Caller; onMade: (made: Made) => void }) {
  const aboutId = useId();
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("runner");
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (isBusy) return;
    void act(async () => {
      const input = { role, ...(email.trim() && { email: email.trim() }) };
      onMade((await mutate(InviteMemberDocument, { input })).inviteMember!);
      setEmail("");
    });
  };
  const problem = refusal?.fields.find(({ path }) => path.endsWith("email"))?.message;
  return (
    <form className={classes["invite"]} noValidate onSubmit={submit}>
      {refusal && !problem && <Problem refusal={refusal} />}
      <div className={classes["inline"]}>
        <TextInput
          label={
            <>
              E-mail <span className={classes["optional"]}>(optional)</span>
            </>
          }
          type="email"
          autoComplete="off"
          aria-describedby={aboutId}
          value={email}
          error={problem && `E-mail ${problem}`}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <NativeSelect
          label="Role"
          value={role}
          data={rolesToGive(caller.role).map((one) => ({ value: one, label: one }))}
          onChange={(event) => setRole(event.currentTarget.value as Role)}
        />
        <Button type="submit" loading={isBusy}>
          Create invite link
        </Button>
      </div>
      <p className="dim" id={aboutId}>
        With an e-mail, only this person can use the link.
        <br />
        {role}: {WHAT_ROLES_DO[role].replace(/^./, (first) => first.toLowerCase())}.
      </p>
    </form>
  );
}
