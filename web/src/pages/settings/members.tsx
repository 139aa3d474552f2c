/** Who is in the organization, as what, and who is asked in. */
import { useState } from "react";
import { useNavigate } from "@tanstack/react-router";
import {
  InvitationsDocument,
  LeaveOrganizationDocument,
  MembersDocument,
  RemoveMemberDocument,
  type MemberRowFragment,
  type MembersQuery,
  type Role,
} from "../../api/documents.ts";
import { useMutate, useRead, useSession } from "../../api/hooks.ts";
import { Confirm } from "../../components/confirm.tsx";
import { withArticle } from "../../components/notice.tsx";
import { List } from "../../components/table/list.tsx";
import { pageIn } from "../../components/table/rows.tsx";
import type { Column } from "../../components/table/table.tsx";
import { MemberRow } from "./member-row.tsx";
import { ListFoot } from "./list-foot.tsx";
import { Invitations } from "./invitations.tsx";
import type { PartProps } from "./part.ts";
import classes from "./settings.module.css";
import type { Caller } from "./use-caller.ts";

const COLUMNS: readonly Column[] = [
  { word: "Member" },
  { word: "Role" },
  { word: "Joined" },
  { word: "Actions", isSilent: true },
];

export function Members({ caller, search: { after } }: PartProps) {
  const mayInvite = caller.may("admin");
  const { asked, members, invitations, readAgain } = useMembers(after, mayInvite);
  const [ending, setEnding] = useState<MemberRowFragment>();
  const isOnlyOwner = after === undefined && isOnlyOwnerOf(members, caller);
  return (
    <div className={classes["part"]}>
      <List
        what="the members"
        page={pageIn(asked, members?.nodes, readAgain)}
        columns={COLUMNS}
        className={classes["table"]}
        renderRow={(member) => (
          <MemberRow
            key={member.id}
            {...{ member, caller, isOnlyOwner }}
            onChanged={() => {
              readAgain();
              caller.readAgain();
            }}
            onEnd={setEnding}
          />
        )}
        below={
          <ListFoot
            {...{ readAgain, caller }}
            asked={{ ...asked, data: members }}
            pages={{ part: "members", after, next: members?.pageInfo }}
          >
            {members &&
              (mayInvite ? (
                <Invitations caller={caller} asked={invitations} readAgain={readAgain} />
              ) : (
                <WhoInvites role={caller.role} />
              ))}
          </ListFoot>
        }
      />
      {ending && (
        <EndMembership member={ending} caller={caller} onRemoved={readAgain} onClose={() => setEnding(undefined)} />
      )}
    </div>
  );
}

/** The page of members, and the invitations if the caller may see them: together, so that nothing moves. */
function useMembers(after: string | undefined, mayInvite: boolean) {
  const [asked, readMembers] = useRead({
    query: MembersDocument,
    variables: { after: after ?? null },
    requestPolicy: "cache-and-network",
  });
  const [invitations, readInvitations] = useRead({
    query: InvitationsDocument,
    pause: !mayInvite,
    requestPolicy: "cache-and-network",
  });
  const readAgain = (): void => {
    readMembers();
    if (mayInvite) readInvitations();
  };
  const isRead = !mayInvite || invitations.data || invitations.error;
  return { asked, members: isRead ? asked.data?.members : undefined, invitations, readAgain };
}

/** `members`: the first page. */
function isOnlyOwnerOf(members: MembersQuery["members"] | undefined, { user }: Caller): boolean {
  const [owner, ...others] = members?.nodes.filter(({ role }) => role === "owner") ?? [];
  return owner?.user.id === user?.id && others.length === 0 && !members?.pageInfo.hasNextPage;
}

const WhoInvites = ({ role }: { role: Role | null }) => (
  <p className="dim">
    Owners and admins invite people and see who is invited{role && `; you are ${withArticle(role)}`}.
  </p>
);

type EndProps = { member: MemberRowFragment; caller: Caller; onRemoved: () => void; onClose: () => void };

function EndMembership({ member: { id, user }, caller, onRemoved, onClose }: EndProps) {
  const mutate = useMutate();
  const leave = useLeave(caller);
  const { name } = caller.organization;
  const remove = async (): Promise<void> => {
    await mutate(RemoveMemberDocument, { input: { memberId: id } });
    onRemoved();
  };
  return user.id === caller.user?.id ? (
    <Confirm title={`Leave ${name}?`} verb="Leave" act={leave} onClose={onClose}>
      <p>You lose access at once. To come back, you need an invitation.</p>
    </Confirm>
  ) : (
    <Confirm title={`Remove ${user.name}?`} verb="Remove member" act={remove} onClose={onClose}>
      <p>
        {user.name} loses access to {name} at once. Runs that they started go on, and API keys that they made stay.
      </p>
    </Confirm>
  );
}

/** Leaves, and goes on where else one is a member. */
function useLeave({ organization, memberships }: Caller): () => Promise<void> {
  const mutate = useMutate();
  const session = useSession();
  const navigate = useNavigate();
  return async () => {
    await mutate(LeaveOrganizationDocument, {});
    const other = memberships.find((one) => one.organization.id !== organization.id);
    if (!other) return session.signOut();
    await session.switchOrganization(other.organization.id);
    await navigate({ to: "/agents", search: {} });
  };
}
