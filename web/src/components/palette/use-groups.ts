/** The commands that fit what is typed, in groups. */
import { useSyncExternalStore } from "react";
import { useNavigate } from "@tanstack/react-router";
import { useMantineColorScheme } from "@mantine/core";
import { useQuery } from "urql";
import { FrameDocument, PaletteAgentsDocument, PaletteRunsDocument } from "../../api/documents.ts";
import { refusalIn, type Refusal } from "../../api/refusal.ts";
import { useMay } from "../../api/use-may.ts";
import { shortId } from "../../lib/ids.ts";
import { lookOf } from "../../lib/statuses.ts";
import { exactText } from "../../lib/times.ts";
import { useLater } from "../../lib/use-later.ts";
import { PLACES } from "../places.ts";
import { useChooseProject } from "../project.ts";
import { SHAPES } from "../icon.tsx";
import { onScreen } from "./on-screen.ts";

type Item = { id?: string; word: string; shape: string; aside?: string; act: () => unknown };
export type Group = { heading: string; items: Item[] };

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
export const ON_THIS_PAGE = "On this page";
const ASKED_AFTER_MS = 150;
/** The most characters that the server searches by. */
const LONGEST = 200;
/** With so many words it is a sentence before it is a name. */
const SENTENCE = 3;
/** More are found by their name. */
const MAX_PROJECTS = 10;
/** Agents, before anything is typed. */
const MAX_UNASKED = 5;

type Found = { groups: Group[]; isSearching: boolean; refusal: Refusal | undefined };

/** Agents and runs are found by the server. */
export function useGroups(text: string, onHelp: () => void): Found {
  const { runs, isReading } = useRunsByPrefix(text);
  const { agents, isSearching, refusal } = useAgents(text);
  const onPage = { heading: ON_THIS_PAGE, items: useOnThisPage(text) };
  const described = { heading: "In your own words", items: useDescribed(text) };
  const [places, projects, themes] = [usePlaces(onHelp), useProjects(), useThemes()];
  const fits = ({ word }: Item): boolean => has(word, text);
  const words = text.split(/\s+/).length;
  const groups = [
    ...(words >= SENTENCE ? [described] : []),
    ...(text === "" ? [] : [onPage]),
    { heading: "Runs", items: runs },
    { heading: "Agents", items: text === "" ? agents.slice(0, MAX_UNASKED) : agents },
    ...(text === "" ? [onPage] : []),
    { heading: "Go to", items: places.filter(fits) },
    { heading: "Project", items: projects.filter(fits).slice(0, MAX_PROJECTS) },
    { heading: "Theme", items: themes.filter(fits) },
    ...(words > 1 && words < SENTENCE ? [described] : []),
  ].filter(({ items }) => items.length > 0);
  return { groups, isSearching: isSearching || isReading, refusal };
}

const has = (word: string, text: string): boolean => word.toLowerCase().includes(text.toLowerCase());

/** By its verb: a search for an agent called "Pay" offers no approval of a payment. */
function useOnThisPage(text: string): Item[] {
  const acts = useSyncExternalStore(onScreen.watch, onScreen.get);
  return acts
    .filter(({ word }) => word.toLowerCase().startsWith(text.toLowerCase()))
    .map(({ word, act }) => ({ word, shape: SHAPES.chevronRight, act }));
}

function useDescribed(text: string): Item[] {
  const navigate = useNavigate();
  const act = (): Promise<void> => navigate({ to: "/describe", search: { text } });
  return [{ word: `Describe a run: “${text}”`, shape: SHAPES.play, act }];
}

function usePlaces(onHelp: () => void): Item[] {
  const navigate = useNavigate();
  return [
    ...ALL_PLACES.map(({ word, shape, ...place }) => ({ word, shape, act: () => navigate({ search: {}, ...place }) })),
    // Also for who has turned `?` off.
    { word: "Keyboard shortcuts", shape: SHAPES.search, act: onHelp },
  ];
}

/** None where there is no choice. */
function useProjects(): Item[] {
  const chooseProject = useChooseProject();
  const known = useKnownProjects();
  const choices = known.length < 2 ? [] : [{ id: undefined, name: "all" }, ...known];
  return choices.map(({ id, name }) => ({
    word: `Project: ${name}`,
    shape: SHAPES.chevronRight,
    act: () => chooseProject(id),
  }));
}

function useKnownProjects() {
  const [{ data }] = useQuery({ query: FrameDocument });
  return data?.projects?.nodes ?? [];
}

function useThemes(): Item[] {
  const { setColorScheme } = useMantineColorScheme();
  return THEMES.map(({ scheme, word }) => ({ word, shape: SHAPES.settings, act: () => setColorScheme(scheme) }));
}

/** Agents whose name or handle has the text: to run them, for those who may. */
function useAgents(text: string): { agents: Item[]; isSearching: boolean; refusal: Refusal | undefined } {
  const navigate = useNavigate();
  const mayRun = useMay().may("runs:start");
  const hasProjects = useKnownProjects().length > 1;
  const asked = useLater(text, ASKED_AFTER_MS);
  const [{ data, error, fetching }] = useQuery({
    query: PaletteAgentsDocument,
    variables: { filter: { status: ["active", "paused", "draft"], ...(asked && { text: asked.slice(0, LONGEST) }) } },
  });
  // A later answer is to less of the text: it must not slip under a person's Enter.
  const found = (data?.agentsConnection?.nodes ?? []).filter(
    ({ name, handle }) => has(name, text) || has(handle, text),
  );
  const agents = found.map(({ id, name, handle, status, project }) => {
    const isRun = mayRun && status === "active";
    return {
      id,
      word: `${isRun ? "Run" : "Open"} ${name}`,
      shape: isRun ? SHAPES.play : SHAPES.agents,
      aside: hasProjects ? `${project.handle} / ${handle}` : handle,
      act: () => navigate({ to: "/agents/$agentId", params: { agentId: id } }),
    };
  });
  return { agents, isSearching: fetching || asked !== text, refusal: error && refusalIn(error) };
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
