/** Go anywhere and run any agent, by a few letters. */
import { useState, useSyncExternalStore } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Modal, useMantineColorScheme } from "@mantine/core";
import { Command } from "cmdk";
import { useQuery } from "urql";
import { FrameDocument, PaletteAgentsDocument, PaletteRunsDocument } from "../../api/documents.ts";
import { refusalIn, type Refusal } from "../../api/refusal.ts";
import { useMay } from "../../api/use-may.ts";
import { shortId } from "../../lib/ids.ts";
import { lookOf } from "../../lib/statuses.ts";
import { exactText } from "../../lib/times.ts";
import { useFocusBack } from "../../lib/use-focus-back.ts";
import { useLater } from "../../lib/use-later.ts";
import { PLACES } from "../places.ts";
import { useChooseProject } from "../project.ts";
import { Icon, SHAPES } from "../icon.tsx";
import { Problem } from "../notice.tsx";
import { onScreen } from "./on-screen.ts";
import classes from "./palette.module.css";

type Item = { id?: string; word: string; shape: string; aside?: string; act: () => unknown };
type Group = { heading: string; items: Item[] };

/** The further commands of each of the frame's places. */
const MORE_OF = {
  "/agents": [
    { to: "/agents/new", word: "New agent", shape: SHAPES.agents },
    { to: "/describe", word: "Describe a run", shape: SHAPES.play },
  ],
  "/runs": [
    { to: "/runs", word: "Failed runs", shape: SHAPES.close, search: { status: "failed" } },
    {
      to: "/runs",
      word: "Runs that failed last night",
      shape: SHAPES.close,
      search: { status: "failed", when: "night" },
    },
  ],
  "/approvals": [],
  "/events": [],
  "/settings": [],
} as const;
const ALL_PLACES = PLACES.flatMap(({ to, word, shape }) => [{ to, word, shape }, ...MORE_OF[to]]);
const THEMES = [
  { scheme: "light", word: "Light theme" },
  { scheme: "dark", word: "Dark theme" },
  { scheme: "auto", word: "System theme" },
] as const;
const ON_THIS_PAGE = "On this page";
const ASKED_AFTER_MS = 150;
const LONGEST = 200;
const LONGEST_SENTENCE = 1_000;
/** With so many words it is a sentence before it is a name. */
const SENTENCE = 3;
/** More are found by their name. */
const MAX_PROJECTS = 10;
/** Agents, before anything is typed. */
const MAX_UNASKED = 5;

type Found = { groups: Group[]; isSearching: boolean; refusal: Refusal | undefined };

/** The commands that fit the text; agents are found by the server. */
function useGroups(text: string, onHelp: () => void): Found {
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const asked = useLater(text, ASKED_AFTER_MS);
  const [{ data, error, fetching }] = useQuery({
    query: PaletteAgentsDocument,
    variables: { filter: { status: ["active", "paused", "draft"], ...(asked && { text: asked.slice(0, LONGEST) }) } },
  });
  const acts = useSyncExternalStore(onScreen.watch, onScreen.get);
  const [{ data: frame }] = useQuery({ query: FrameDocument });
  const chooseProject = useChooseProject();
  const mayRun = useMay().may("runs:start");
  const known = frame?.projects?.nodes ?? [];
  const projects = known.length < 2 ? [] : [{ id: undefined, name: "all" }, ...known];
  const fits = ({ word }: { word: string }): boolean => word.toLowerCase().includes(text.toLowerCase());
  // By its verb: a search for an agent called "Pay" offers no approval of a payment.
  const isAsked = ({ word }: { word: string }): boolean => word.toLowerCase().startsWith(text.toLowerCase());
  // A later answer is to less of the text: it must not slip under a person's Enter.
  const isNamed = ({ name, handle }: { name: string; handle: string }): boolean =>
    [name, handle].some((one) => one.toLowerCase().includes(text.toLowerCase()));
  const agents = (data?.agentsConnection?.nodes ?? []).filter(isNamed).map(({ id, name, handle, status, project }) => ({
    id,
    word: `${mayRun && status === "active" ? "Run" : "Open"} ${name}`,
    shape: mayRun && status === "active" ? SHAPES.play : SHAPES.agents,
    aside: known.length < 2 ? handle : `${project.handle} / ${handle}`,
    act: () => navigate({ to: "/agents/$agentId", params: { agentId: id } }),
  }));
  const { runs, isReading } = useRunsByPrefix(text);
  const words = text.split(/\s+/).length;
  const onPage = {
    heading: ON_THIS_PAGE,
    items: acts.filter(isAsked).map(({ word, act }) => ({ word, shape: SHAPES.chevronRight, act })),
  };
  const described = {
    heading: "In your own words",
    items: [
      {
        word: `Describe a run: “${text}”`,
        shape: SHAPES.play,
        act: () => navigate({ to: "/describe", search: { text } }),
      },
    ],
  };
  const groups = [
    ...(words >= SENTENCE ? [described] : []),
    ...(text === "" ? [] : [onPage]),
    { heading: "Runs", items: runs },
    { heading: "Agents", items: text === "" ? agents.slice(0, MAX_UNASKED) : agents },
    ...(text === "" ? [onPage] : []),
    {
      heading: "Go to",
      items: [
        ...ALL_PLACES.map(({ word, shape, ...place }) => ({
          word,
          shape,
          act: () => navigate({ search: {}, ...place }),
        })),
        // Also for who has turned `?` off.
        { word: "Keyboard shortcuts", shape: SHAPES.search, act: onHelp },
      ].filter(fits),
    },
    {
      heading: "Project",
      items: projects
        .map(({ id, name }) => ({ word: `Project: ${name}`, shape: SHAPES.chevronRight, act: () => chooseProject(id) }))
        .filter(fits)
        .slice(0, MAX_PROJECTS),
    },
    {
      heading: "Theme",
      items: THEMES.filter(fits).map(({ scheme, word }) => ({
        word,
        shape: SHAPES.settings,
        act: () => setColorScheme(scheme),
      })),
    },
    ...(words > 1 && words < SENTENCE ? [described] : []),
  ].filter(({ items }) => items.length > 0);
  return { groups, isSearching: fetching || isReading || asked !== text, refusal: error && refusalIn(error) };
}

/** An id as it is copied, or as it is shown: `run_01m7…v7w2` begins with `run_01m7`. */
const RUN_ID = /^run_([0-7][0-9a-hjkmnp-tv-z]{0,25})?/;

/** Runs whose id begins with the text, newest first. */
function useRunsByPrefix(text: string): { runs: Item[]; isReading: boolean } {
  const navigate = useNavigate();
  const [prefix] = RUN_ID.exec(text.toLowerCase()) ?? [];
  const asked = useLater(prefix ?? "", ASKED_AFTER_MS);
  const [{ data, fetching }] = useQuery({
    query: PaletteRunsDocument,
    variables: { prefix: asked },
    pause: prefix === undefined || asked === "",
  });
  // A later answer belongs to an earlier text.
  const found = prefix === undefined ? [] : (data?.runs?.nodes ?? []).filter(({ id }) => id.startsWith(prefix));
  const runs = found.map(({ id, agent, status, createdAt }) => ({
    id,
    word: `${agent.name}, ${lookOf(status).word}`,
    shape: SHAPES.runs,
    aside: `${shortId(id)}, ${exactText(Date.parse(createdAt))}`,
    act: () => navigate({ to: "/runs/$runId", params: { runId: id } }),
  }));
  return { runs, isReading: prefix !== undefined && (fetching || asked !== prefix) };
}

/** The dialog's own focus comes a moment later, and letters typed until then would be lost. */
const focusAtOnce = (input: HTMLInputElement | null): void => input?.focus();

export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  useFocusBack();
  const [text, setText] = useState("");
  const { groups, isSearching, refusal } = useGroups(text.trim().slice(0, LONGEST_SENTENCE), onHelp);
  const [chosen, setChosen] = useState("");
  const keys = groups.flatMap(({ heading, items }) => items.map((_, index) => `${heading} ${index}`));
  // Enter alone cancels and approves nothing.
  const first = keys.find((key) => text !== "" || !key.startsWith(ON_THIS_PAGE)) ?? "";
  return (
    <Modal.Root opened onClose={onClose} centered={false}>
      <Modal.Overlay backgroundOpacity={0.4} />
      <Modal.Content aria-label="Search or run">
        <Command
          label="Search or run"
          className={classes["palette"]}
          loop
          // The results come from the server, and the first of them is chosen: cmdk leaves none chosen when the one that was is gone.
          shouldFilter={false}
          value={keys.includes(chosen) ? chosen : first}
          onValueChange={setChosen}
        >
          <Command.Input
            value={text}
            onValueChange={(value) => {
              setText(value);
              setChosen("");
            }}
            placeholder="Search or run…"
            className={classes["input"]}
            ref={focusAtOnce}
            data-autofocus
          />
          <Command.List className={classes["list"]}>
            {refusal && <Problem refusal={refusal} />}
            <Command.Empty className={classes["empty"]}>
              {isSearching ? "Searching…" : !refusal && "No match."}
            </Command.Empty>
            {groups.map(({ heading, items }) => (
              <Command.Group key={heading} heading={heading} className={classes["group"]}>
                {items.map(({ id, word, shape, aside, act }, index) => (
                  <Command.Item
                    key={id ?? `${word} ${index}`}
                    value={`${heading} ${index}`}
                    className={classes["item"]}
                    onSelect={() => {
                      onClose();
                      act();
                    }}
                  >
                    <Icon shape={shape} /> {word} {aside && <span className="dim">{aside}</span>}
                  </Command.Item>
                ))}
              </Command.Group>
            ))}
          </Command.List>
        </Command>
      </Modal.Content>
    </Modal.Root>
  );
}
