/** The frame of every page: where one can go, who is here, and whether what is shown is still live. */
import { Suspense, useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { UnstyledButton } from "@mantine/core";
import { BadgesDocument, FrameDocument, type BadgesSubscription, type FrameQuery } from "../../api/documents.ts";
import { useConnection, useLive, useRead } from "../../api/hooks.ts";
import { refusalIn } from "../../api/refusal.ts";
import { later } from "../../lib/later.ts";
import { clockText } from "../../lib/times.ts";
import { Mark } from "../entrance.tsx";
import { Icon, SHAPES } from "../icon.tsx";
import { Problem, TryAgain } from "../notice.tsx";
import { Keys } from "../palette/keys.tsx";
import { DecisionsBar } from "./decisions-bar.tsx";
import { PLACES } from "../places.ts";
import { useProject } from "../project.ts";
import { ProjectChoice } from "./project-choice.tsx";
import classes from "./frame.module.css";

// With what places them they weigh 27 kB.
const AccountMenu = later(async () => (await import("./menus.tsx")).AccountMenu);
const OrganizationMenu = later(async () => (await import("./menus.tsx")).OrganizationMenu);

type Badges = BadgesSubscription["badgesChanged"];

const NONE: Badges = { openRuns: 0, openApprovals: 0 };

export function Frame({ children }: { children: ReactNode }) {
  const [{ data, error }, readAgain] = useRead({ query: FrameDocument });
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
      <DecisionsBar />
    </div>
  );
}

type Known = { data: FrameQuery | undefined };

function Organization({ data }: Known) {
  const [isOpened, setIsOpened] = useState(false);
  const memberships = data?.caller?.memberships ?? [];
  const name = data?.organization?.name ?? "";
  if (memberships.length < 2)
    return (
      <p className={classes["organization"]}>
        <Mark size={20} />
        <strong>{name}</strong>
      </p>
    );
  const button = (
    <UnstyledButton
      className={classes["organization"]}
      aria-label={`Organization ${name}: switch`}
      aria-haspopup="menu"
      aria-expanded={false}
      onClick={() => setIsOpened(true)}
    >
      <Mark size={20} />
      <strong>{name}</strong>
      <Icon shape={SHAPES.chevron} size={12} />
    </UnstyledButton>
  );
  if (!isOpened) return button;
  return (
    <Suspense fallback={button}>
      <OrganizationMenu button={button} name={name} memberships={memberships} />
    </Suspense>
  );
}

function Person({ data }: Known) {
  const [isOpened, setIsOpened] = useState(false);
  const user = data?.caller?.user;
  const button = (
    <UnstyledButton
      className={classes["person"]}
      aria-haspopup="menu"
      aria-expanded={false}
      onClick={() => setIsOpened(true)}
    >
      <span className={classes["initial"]} aria-hidden="true">
        {user?.name.slice(0, 1).toUpperCase()}
      </span>
      <span className={classes["name"]}>{user?.name}</span>
      <span className="visually-hidden">account</span>
    </UnstyledButton>
  );
  if (!isOpened) return button;
  return (
    <Suspense fallback={button}>
      <AccountMenu button={button} email={user?.email} projects={data?.projects} />
    </Suspense>
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
