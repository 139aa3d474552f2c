/** The menus of the frame. They come when they are first opened, and then open themselves. */
import { useEffect, useRef, useState, type ReactElement, type ReactNode } from "react";
import { Menu, type MenuProps } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import type { FrameQuery } from "../../api/documents.ts";
import { useSession } from "../../api/hooks.ts";
import { useAct } from "../../api/use-act.ts";
import { ProjectItems } from "./project-items.tsx";
import { Theme } from "./theme-choice.tsx";
import classes from "./frame.module.css";
import { Told } from "./told.tsx";

/** As in frame.module.css: there is no head, and no place for Settings in the bar. */
const NARROW = "(max-width: 700px)";

type MenuOfProps = { button: ReactElement; children: ReactNode } & Pick<MenuProps, "position" | "withinPortal">;

function MenuOf({ button, children, ...props }: MenuOfProps) {
  const [isOpen, setIsOpen] = useState(false);
  const target = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    // Where the focus is again when the menu is closed.
    target.current?.querySelector("button")?.focus();
    const frame = requestAnimationFrame(() => setIsOpen(true));
    return () => cancelAnimationFrame(frame);
  }, []);
  return (
    <Menu opened={isOpen} onChange={setIsOpen} {...props}>
      <span ref={target} className={classes["target"]}>
        <Menu.Target>{button}</Menu.Target>
      </span>
      <Menu.Dropdown className={classes["menu"]}>{children}</Menu.Dropdown>
    </Menu>
  );
}

type Caller = NonNullable<FrameQuery["caller"]>;
type OrganizationMenuProps = { button: ReactElement; name: string; memberships: Caller["memberships"] };

export function OrganizationMenu({ button, name, memberships }: OrganizationMenuProps) {
  const session = useSession();
  const navigate = useNavigate();
  const { act, refusal } = useAct();
  const enter = async (id: string): Promise<void> => {
    const isDone = await act(() => session.switchOrganization(id));
    if (isDone) await navigate({ to: "/agents", search: { project: undefined } });
  };
  return (
    <>
      <Told title={`You are still in ${name}`} refusal={refusal} />
      <MenuOf button={button} position="bottom-start">
        {memberships.map(({ organization }) => (
          <Menu.Item key={organization.id} onClick={() => void enter(organization.id)}>
            {organization.name}
          </Menu.Item>
        ))}
      </MenuOf>
    </>
  );
}

type AccountMenuProps = {
  button: ReactElement;
  email: string | null | undefined;
  projects: FrameQuery["projects"] | undefined;
};

export function AccountMenu({ button, email, projects }: AccountMenuProps) {
  const session = useSession();
  const navigate = useNavigate();
  const { act, refusal } = useAct();
  // An element hidden by a style would be given the focus, and not take it.
  const isNarrow = useMediaQuery(NARROW);
  return (
    <>
      <Told title="Could not sign out" refusal={refusal} />
      <MenuOf button={button} position="top-start" withinPortal={false}>
        <Menu.Label>{email}</Menu.Label>
        {isNarrow && (
          <>
            <Menu.Item onClick={() => void navigate({ to: "/settings" })}>Settings</Menu.Item>
            <ProjectItems projects={projects} />
          </>
        )}
        <Theme />
        <Menu.Divider />
        <Menu.Item onClick={() => void act(() => session.signOut())}>Sign out</Menu.Item>
      </MenuOf>
    </>
  );
}
