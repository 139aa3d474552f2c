/** One member: who it is, and their role, which some may change. */
import { useState } from "react";
import { Button, Menu } from "@mantine/core";
import { SetMemberRoleDocument, type MemberRowFragment, type Role } from "../../api/documents.ts";
import { useMutate } from "../../api/hooks.ts";
import { useAct } from "../../api/use-act.ts";
import { Confirm } from "../../components/confirm.tsx";
import { Icon, SHAPES } from "../../components/icon.tsx";
import { Problem, withArticle } from "../../components/notice.tsx";
import { Time } from "../../components/time.tsx";
import { mayChange, rolesToGive, WHAT_ROLES_DO } from "./roles.ts";
import classes from "./settings.module.css";
import type { Caller } from "./use-caller.ts";

type RowProps = {
  member: MemberRowFragment;
  caller: Caller;
  /** An organization keeps one, so they cannot leave. */
  isOnlyOwner: boolean;
  onChanged: () => void;
  onEnd: (member: MemberRowFragment) => void;
};

export function MemberRow({ member, caller, isOnlyOwner, onChanged, onEnd }: RowProps) {
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
          <p>You are {withArticle(role)} now. Only someone else may be able to change it back.</p>
        </Confirm>
      )}
    </>
  );
}
