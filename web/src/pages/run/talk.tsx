/** The messages and turns of a conversation. Only those near what is seen are in the page: there may be a thousand. */
import {
  useCallback,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type FocusEvent,
  type KeyboardEvent,
  type RefObject,
} from "react";
import { defaultRangeExtractor, useVirtualizer, type Range, type Virtualizer } from "@tanstack/react-virtual";
import { Button } from "@mantine/core";
import { Loading } from "../../components/loading.tsx";
import { useHeldEnd } from "../../lib/use-held-end.ts";
import { OpenedContext, useOpened } from "../../lib/use-opened.ts";
import classes from "./conversation.module.css";
import { ModelTurn, Words } from "./model-turn.tsx";
import type { RunView } from "./run-view.ts";
import { isTurnOpen, type LimitAsk, type Turn } from "./turns.ts";

/** `files`: their URLs. */
type Message = { role: string; content: string; files?: readonly string[] };
/** The beginning of a conversation. */
export type Opening = { instructions?: string; messages: Message[] };

/** `turn`: undefined until its steps are read. */
type Item = { key: string } & (
  | { message: Message }
  | { instructions: string }
  | { turn: Turn | undefined }
  | { ask: LimitAsk }
);

/** The height that a turn is thought to have until it is seen. */
const TURN_PX = 120;
const GAP_PX = 16;
/** Items in the page before and after those that are seen. */
const MORE = 3;

type Props = {
  /** The assistant's. */
  name: string;
  /** More comes. */
  isLive: boolean;
  opening: Opening | undefined;
  turns: readonly Turn[];
  asks: readonly LimitAsk[];
  view: RunView;
  said: ReadonlyMap<number, string>;
  now: number;
  onChoose: (number: number) => void;
};

/** Begins at its end: there is what is going on, or the answer. */
export function Talk({ name, isLive, opening, turns, asks, view, said, now, onChoose }: Props) {
  const items = useMemo(() => itemsOf(opening, turns, asks), [opening, turns, asks]);
  const scrolled = useRef<HTMLElement>(null);
  const openedIn = useOpenedIn();
  const { virtualizer, goTo, keep } = useItems(items, scrolled);
  const { isHeld, isLeft, hold } = useHeldEnd(scrolled, {
    isLive,
    isHeldAtFirst: true,
    // An answer is read from its beginning.
    end: () => (isLive ? virtualizer.getTotalSize() : (virtualizer.measurementsCache.at(-1)?.start ?? 0)),
  });
  useLayoutEffect(() => adjust(virtualizer, !isHeld), [virtualizer, isHeld]);
  return (
    <div className={classes["talk"]}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- keys that scroll */}
      <section
        ref={scrolled}
        className={classes["scrolled"]}
        aria-label={`What ${name} says`}
        onKeyDown={goTo}
        onFocus={keep}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so the keyboard must reach it
        tabIndex={0}
      >
        <ol className={classes["turns"]} style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, key, start }) => (
            <li
              key={key}
              ref={virtualizer.measureElement}
              data-index={index}
              data-key={key}
              data-role={roleOf(items[index]!)}
              aria-posinset={index + 1}
              aria-setsize={isLive ? -1 : items.length}
              className={classes["turn"]}
              style={{ transform: `translateY(${start}px)` }}
            >
              <OpenedContext value={openedIn(items[index]!.key)}>
                <Shown item={items[index]!} {...{ view, said, now, onChoose }} />
              </OpenedContext>
            </li>
          ))}
        </ol>
      </section>
      {isLeft && (
        <Button size="compact-sm" radius="xl" className={classes["newest"]} onClick={hold}>
          Show the newest
        </Button>
      )}
    </div>
  );
}

/** Lets an item that changes its height above what is seen move that, unless the end is held: nothing else may move that. */
function adjust(virtualizer: Virtualizer<HTMLElement, Element>, isWanted: boolean): void {
  virtualizer.shouldAdjustScrollPositionOnItemSizeChange = isWanted ? undefined : () => false;
}

/** The names of what is open in each item, by its key. */
function useOpenedIn(): (key: string) => Set<string> {
  const [all] = useState(() => new Map<string, Set<string>>());
  return (key) => {
    const opened = all.get(key) ?? new Set();
    all.set(key, opened);
    return opened;
  };
}

/** The items near what is seen and the one that has the focus, and the keys that lead to both ends. */
function useItems(items: readonly Item[], scrolled: RefObject<HTMLElement | null>) {
  /** The key of the item with the focus. It stays in the page: the focus would be lost, and the keys that scroll with it. */
  const focused = useRef<string>(undefined);
  const keep = ({ target }: FocusEvent): void => {
    focused.current = target.closest<HTMLElement>("[data-key]")?.dataset["key"];
  };
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scrolled.current,
    estimateSize: () => TURN_PX,
    getItemKey: useCallback((index: number) => items[index]!.key, [items]),
    initialOffset: () => items.length * TURN_PX,
    gap: GAP_PX,
    overscan: MORE,
    rangeExtractor: useCallback(
      (range: Range) => {
        const near = defaultRangeExtractor(range);
        const { current } = focused;
        const at = current === undefined ? -1 : items.findIndex(({ key }) => key === current);
        return at < 0 || near.includes(at) ? near : [...near, at].toSorted((a, b) => a - b);
      },
      [items],
    ),
    // Within it, lines that are drawn with others' heights would be a loop to the browser.
    useAnimationFrameWithResizeObserver: true,
  });
  // The browser's own way there ends where a line on the way has another height than was thought.
  const goTo = (event: KeyboardEvent): void => {
    if (event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    if (event.key === "Home") virtualizer.scrollToIndex(0, { align: "start" });
    else virtualizer.scrollToIndex(items.length - 1, { align: "end" });
  };
  return { virtualizer, goTo, keep };
}

function itemsOf(opening: Opening | undefined, turns: readonly Turn[], asks: readonly LimitAsk[]): Item[] {
  const { instructions, messages = [] } = opening ?? {};
  const read = new Map(turns.map((turn) => [turn.number, turn]));
  // An ask comes after the last turn before it: both are in the order of their steps.
  let before = 0;
  const asked = Map.groupBy(asks, ({ step }) => {
    while (before < turns.length && turns[before]!.model.number < step.number) before++;
    return turns[before - 1]?.number ?? 0;
  });
  const numbers = Array.from({ length: turns.at(-1)?.number ?? 0 }, (_, index) => index + 1);
  return [
    ...(instructions ? [{ key: "instructions", instructions }] : []),
    ...messages.map((message, index) => ({ key: `message ${index}`, message })),
    ...numbers.flatMap((number) => [
      { key: `turn ${number}`, turn: read.get(number) },
      ...(asked.get(number) ?? []).map((ask) => ({ key: `ask ${ask.step.number}`, ask })),
    ]),
  ];
}

const roleOf = (item: Item): string | undefined =>
  "message" in item ? item.message.role : "turn" in item ? "assistant" : undefined;

type ShownProps = Pick<Props, "view" | "said" | "now" | "onChoose"> & { item: Item };

function Shown({ item, view, said, now, onChoose }: ShownProps) {
  if ("message" in item) return <Told {...item.message} />;
  if ("instructions" in item) return <Instructions text={item.instructions} />;
  if ("ask" in item) return <AskedForMore ask={item.ask} said={said.get(item.ask.step.number)} />;
  const { turn } = item;
  if (!turn) return <Loading label="Loading a turn" lines={2} />;
  return <ModelTurn {...{ turn, view, said, onChoose }} now={isTurnOpen(turn) ? now : 0} />;
}

/** The words of a limit: what there may be more of. */
const OF_LIMITS: Readonly<Record<string, string>> = { iterations: "questions", toolCalls: "tool calls" };

const AskedForMore = ({ ask: { step, limit }, said }: { ask: LimitAsk; said: string | undefined }) => (
  <>
    <p className="dim">Asked a person for more {OF_LIMITS[limit] ?? limit}</p>
    <p>{said ?? (step.finishedAt === null ? "waits for a person" : "…")}</p>
  </>
);

function Instructions({ text }: { text: string }) {
  const [isOpen, open] = useOpened("instructions");
  return (
    <details open={isOpen} onToggle={(event) => open(event.currentTarget.open)}>
      <summary className="dim">Instructions</summary>
      <Words text={text} />
    </details>
  );
}

const ROLES: Readonly<Record<string, string>> = { system: "Instructions", user: "Asked", assistant: "Model" };

/** A file may be in its URL. */
const FILE_CHARACTERS = 200;

const NONE: readonly string[] = [];

/** A message that the author gives the model. */
const Told = ({ role, content, files = NONE }: Message) => (
  <>
    <p className="dim">{ROLES[role] ?? role}</p>
    <Words text={content} />
    {files.map((url) => (
      <code key={url} className={classes["short"]}>
        {url.slice(0, FILE_CHARACTERS)}
      </code>
    ))}
  </>
);
