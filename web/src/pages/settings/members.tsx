/** Who is in the organization, as what, and who is asked in. */
import { useState } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Button, Menu } from "@mantine/core";
import {
  InvitationsDocument,
  LeaveOrganizationDocument,
  MembersDocument,
  RemoveMemberDocument,
  SetMemberRoleDocument,
  type MemberRowFragment,
  type Role,
} from "../../api/documents.ts";
import { useMutate, useRead, useSession } from "../../api/hooks.ts";
import { refusalIn } from "../../api/refusal.ts";
import { useAct } from "../../api/use-act.ts";
import { Loading } from "../../components/loading.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { Icon, SHAPES } from "../../components/icon.tsx";
import { Problem, withArticle } from "../../components/notice.tsx";
import { Table, type Column } from "../../components/table/table.tsx";
import { Time } from "../../components/time.tsx";
import { Paging } from "./paging.tsx";
import { ReadAgain } from "./read-again.tsx";
import { Invitations } from "./invitations.tsx";
import type { PartProps } from "./part.ts";
import { mayChange, rolesToGive, WHAT_ROLES_DO } from "./roles.ts";
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
  const { data, error } = asked;
  const [ending, setEnding] = useState<MemberRowFragment>();
  const mutate = useMutate();
  const leave = useLeave(caller);
  const readAgain = (): void => {
    readMembers();
    if (mayInvite) readInvitations();
  };
  /** Also one's own role. */
  const changed = (): void => {
    readAgain();
    caller.readAgain();
  };
  const isOwn = ending?.user.id === caller.user?.id;
  const name = ending?.user.name ?? "";
  // Together, so that nothing moves.
  const members = !mayInvite || invitations.data || invitations.error ? data?.members : undefined;
  const owners = members?.nodes.filter(({ role }) => role === "owner") ?? [];
  const isOnlyOwner =
    owners.length === 1 &&
    owners[0]!.user.id === caller.user?.id &&
    !members!.pageInfo.hasNextPage &&
    after === undefined;
  return (
    <div className={classes["part"]}>
      {error && <Problem refusal={refusalIn(error)} />}
      {!members && !error && <Loading label="Loading the members" lines={5} />}
      {members && (
        <Table columns={COLUMNS} className={classes["table"]}>
          <tbody>
            {members.nodes.map((member) => (
              <Row
                key={member.id}
                member={member}
                caller={caller}
                isOnlyOwner={isOnlyOwner}
                onChanged={changed}
                onEnd={setEnding}
              />
            ))}
          </tbody>
        </Table>
      )}
      <Paging part="members" after={after} next={members?.pageInfo} />
      {members && mayInvite && <Invitations caller={caller} asked={invitations} readAgain={readAgain} />}
      {members && !mayInvite && (
        <p className="dim">
          Owners and admins invite people and see who is invited{caller.role && `; you are ${withArticle(caller.role)}`}
          .
        </p>
      )}
      <ReadAgain asked={{ ...asked, data: members }} readAgain={readAgain} caller={caller} />
      {ending && (
        <Confirm
          title={isOwn ? `Leave ${caller.organization.name}?` : `Remove ${name}?`}
          verb={isOwn ? "Leave" : "Remove member"}
          act={
            isOwn
              ? leave
              : async () => {
                  await mutate(RemoveMemberDocument, { input: { memberId: ending.id } });
                  readAgain();
                }
          }
          onClose={() => setEnding(undefined)}
        >
          <p>
            {isOwn
              ? "You see nothing of it from then on. To come back, you need an invitation."
              : `${name} sees nothing of ${caller.organization.name} from then on. What they started goes on, and API keys that they made stay.`}
          </p>
        </Confirm>
      )}
    </div>
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

type RowProps = {
  member: MemberRowFragment;
  caller: Caller;
  /** An organization keeps one, so they cannot leave. */
  isOnlyOwner: boolean;
  onChanged: () => void;
  onEnd: (member: MemberRowFragment) => void;
};

function Row({ member, caller, isOnlyOwner, onChanged, onEnd }: RowProps) {
  const { user, role, createdAt } = member;
  const isOwn = user.id === caller.user?.id;
  const mayEnd = isOwn ? !isOnlyOwner : caller.may("admin") && mayChange(caller.role, role);
  const isAdmin = caller.may("admin");
  return (
    <tr>
      <td>
        <span className={classes["name"]}>{user.name}</span>
        {isOwn && <span className={classes["tag"]}>you</span>}
        <span className={classes["sub"]}>{user.email}</span>
      </td>
      <td>
        {isAdmin && mayChange(caller.role, role) ? (
          <RoleChoice member={member} caller={caller} onChanged={onChanged} />
        ) : (
          role
        )}
      </td>
      <td className={classes["when"]} data-label="Joined">
        <Time at={createdAt} />
      </td>
      <td className={classes["action"]}>
        {mayEnd && (
          <Button
            variant={isOwn ? "subtle" : "default"}
            size="compact-sm"
            aria-label={isOwn ? undefined : `Remove ${user.name}`}
            onClick={() => onEnd(member)}
          >
            {isOwn ? "Leave" : "Remove"}
          </Button>
        )}
      </td>
    </tr>
  );
}

function RoleChoice({ member: { id, role, user }, caller, onChanged }: Omit<RowProps, "isOnlyOwner" | "onEnd">) {
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  const [ownNext, setOwnNext] = useState<Role>();
  const change = async (given: Role): Promise<void> => {
    await mutate(SetMemberRoleDocument, { input: { memberId: id, role: given } });
    onChanged();
  };
  const give = (given: Role): void => {
    if (given === role) return;
    // One may not be able to take it back.
    if (user.id === caller.user?.id) setOwnNext(given);
    else void act(() => change(given));
  };
  return (
    <>
      <Menu position="bottom-start" width={300} withinPortal={false}>
        <Menu.Target>
          <Button
            variant="default"
            size="compact-sm"
            loading={isBusy}
            rightSection={<Icon shape={SHAPES.chevron} size={12} />}
            aria-label={`Role of ${user.name}: ${role}`}
          >
            {role}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.RadioGroup value={role} onChange={(given) => give(given as Role)}>
            {rolesToGive(caller.role).map((one) => (
              <Menu.RadioItem key={one} value={one} closeMenuOnClick>
                {one}
                <span className={classes["sub"]}>{WHAT_ROLES_DO[one]}</span>
              </Menu.RadioItem>
            ))}
          </Menu.RadioGroup>
        </Menu.Dropdown>
      </Menu>
      {refusal && <Problem refusal={refusal} />}
      {ownNext && (
        <Confirm
          title={`Become ${withArticle(ownNext)}?`}
          verb="Change my role"
          act={() => change(ownNext)}
          onClose={() => setOwnNext(undefined)}
        >
          <p>You are {withArticle(role)} now. You may need somebody else to change it back.</p>
        </Confirm>
      )}
    </>
  );
}
