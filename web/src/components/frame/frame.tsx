/** What stands around every page: where one can go, who is here, and whether what is shown is still live. */
import { useState, type ReactNode } from "react";
import { Link, useNavigate } from "@tanstack/react-router";
import { Menu, UnstyledButton } from "@mantine/core";
import { useQuery } from "urql";
import { BadgesDocument, FrameDocument, type BadgesSubscription, type FrameQuery } from "../../api/documents.ts";
import { useConnection, useLive, useSession } from "../../api/hooks.ts";
import { refusalIn } from "../../api/refusal.ts";
import { useAct } from "../../api/use-act.ts";
import { clockText } from "../../lib/times.ts";
import { Mark } from "../entrance.tsx";
import { Icon, SHAPES } from "../icon.tsx";
import { Problem, TryAgain } from "../notice.tsx";
import { Keys } from "../palette/keys.tsx";
import { ProjectChoice, ProjectItems, useProject } from "./project-choice.tsx";
import { Theme } from "./theme-choice.tsx";
import classes from "./frame.module.css";
import { Told } from "./told.tsx";

type Badges = BadgesSubscription["badgesChanged"];

const PLACES = [
  { to: "/agents", word: "Agents", shape: SHAPES.agents },
  { to: "/runs", word: "Runs", shape: SHAPES.runs, badge: "openRuns", about: "open" },
  { to: "/approvals", word: "Approvals", shape: SHAPES.approvals, badge: "openApprovals", about: "open" },
  { to: "/events", word: "Events", shape: SHAPES.events },
  { to: "/settings", word: "Settings", shape: SHAPES.settings, isWide: true },
] as const satisfies readonly {
  to: string;
  word: string;
  shape: string;
  badge?: keyof Badges;
  about?: string;
  /** The bar of a narrow screen has no place for it: the account's menu leads there. */
  isWide?: true;
}[];

const NONE: Badges = { openRuns: 0, openApprovals: 0 };

export function Frame({ children }: { children: ReactNode }) {
  const [{ data, error }, read] = useQuery({ query: FrameDocument });
  const readAgain = (): void => read({ requestPolicy: "network-only" });
  const [badges, setBadges] = useState(NONE);
  const project = useProject();
  useLive(
    BadgesDocument,
    { projectId: project ?? null },
    { onMissed: () => error && readAgain(), onData: ({ badgesChanged }) => setBadges(badgesChanged) },
  );
  return (
    <div className={classes["frame"]}>
      <a href="#page" className={classes["skip"]}>
        Skip to the page
      </a>
      <nav className={classes["nav"]} aria-label="Main">
        <div className={classes["head"]}>
          <Organization data={data} />
          <ProjectChoice projects={data?.projects} />
        </div>
        <Keys />
        <ul className={classes["places"]}>
          {PLACES.map((place) => (
            <li key={place.to} data-wide={"isWide" in place || undefined}>
              <Link to={place.to} className={classes["place"]} activeProps={{ "aria-current": "page" }}>
                <Icon shape={place.shape} />
                <span>{place.word}</span>
                {"badge" in place && badges[place.badge] > 0 && (
                  <span className={classes["badge"]}>
                    {badges[place.badge]}
                    <span className="visually-hidden"> {place.about}</span>
                  </span>
                )}
              </Link>
            </li>
          ))}
        </ul>
        <Person data={data} />
      </nav>
      <div className={classes["column"]}>
        <LiveLine />
        {project !== undefined && (
          <div className={classes["above"]}>
            <ProjectChoice projects={data?.projects} />
          </div>
        )}
        <main id="page" className={classes["page"]} tabIndex={-1}>
          {error && !data && <Problem refusal={refusalIn(error)} action={<TryAgain onClick={readAgain} />} />}
          {children}
        </main>
      </div>
    </div>
  );
}

type Known = { data: FrameQuery | undefined };

function Organization({ data }: Known) {
  const session = useSession();
  const navigate = useNavigate();
  const { act, refusal } = useAct();
  const memberships = data?.caller?.memberships ?? [];
  const name = data?.organization?.name ?? "";
  if (memberships.length < 2)
    return (
      <p className={classes["organization"]}>
        <Mark size={20} />
        <strong>{name}</strong>
      </p>
    );
  const enter = async (id: string): Promise<void> => {
    const isDone = await act(() => session.switchOrganization(id));
    if (isDone) await navigate({ to: "/agents", search: { project: undefined } });
  };
  return (
    <Menu position="bottom-start">
      <Told title={`You are still in ${name}`} refusal={refusal} />
      <Menu.Target>
        <UnstyledButton className={classes["organization"]} aria-label={`Organization ${name}: switch`}>
          <Mark size={20} />
          <strong>{name}</strong>
          <Icon shape={SHAPES.chevron} size={12} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        {memberships.map(({ organization }) => (
          <Menu.Item key={organization.id} onClick={() => void enter(organization.id)}>
            {organization.name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function Person({ data }: Known) {
  const session = useSession();
  const navigate = useNavigate();
  const { act, refusal } = useAct();
  const user = data?.caller?.user;
  return (
    <Menu position="top-start" withinPortal={false}>
      <Told title="Could not sign out" refusal={refusal} />
      <Menu.Target>
        <UnstyledButton className={classes["person"]}>
          <span className={classes["initial"]} aria-hidden="true">
            {user?.name.slice(0, 1).toUpperCase()}
          </span>
          <span className={classes["name"]}>{user?.name}</span>
          <span className="visually-hidden">account</span>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown className={classes["menu"]}>
        <Menu.Label>{user?.email}</Menu.Label>
        <Menu.Item className={classes["narrow"]} onClick={() => void navigate({ to: "/settings" })}>
          Settings
        </Menu.Item>
        <ProjectItems projects={data?.projects} />
        <Theme />
        <Menu.Divider />
        <Menu.Item onClick={() => void act(() => session.signOut())}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function LiveLine() {
  const { lostAt } = useConnection();
  return (
    <div role="status">
      {lostAt !== undefined && (
        <p className={classes["lost"]}>Reconnecting… what you see is from {clockText(lostAt)}</p>
      )}
    </div>
  );
}
