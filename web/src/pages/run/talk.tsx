/** The messages and turns of a conversation. Only those near what is seen are in the page: there may be a thousand. */
import { useCallback, useMemo, useRef, type KeyboardEvent, type RefObject } from "react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Button } from "@mantine/core";
import { Loading } from "../../components/loading.tsx";
import { useHeldEnd } from "../../lib/use-held-end.ts";
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
  const { virtualizer, goTo } = useItems(items, scrolled);
  const { isLeft, hold } = useHeldEnd(scrolled, {
    isLive,
    isHeldAtFirst: true,
    // An answer is read from its beginning.
    end: () => (isLive ? virtualizer.getTotalSize() : (virtualizer.measurementsCache.at(-1)?.start ?? 0)),
  });
  return (
    <div className={classes["talk"]}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- keys that scroll */}
      <section
        ref={scrolled}
        className={classes["scrolled"]}
        aria-label={`What ${name} says`}
        onKeyDown={goTo}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so the keyboard must reach it
        tabIndex={0}
      >
        <ol className={classes["turns"]} style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, key, start }) => (
            <li
              key={key}
              ref={virtualizer.measureElement}
              data-index={index}
              data-role={roleOf(items[index]!)}
              aria-posinset={index + 1}
              aria-setsize={isLive ? -1 : items.length}
              className={classes["turn"]}
              style={{ transform: `translateY(${start}px)` }}
            >
              <Shown item={items[index]!} {...{ view, said, now, onChoose }} />
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

/** The items near what is seen, and the keys that lead to both ends. */
function useItems(items: readonly Item[], scrolled: RefObject<HTMLElement | null>) {
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scrolled.current,
    estimateSize: () => TURN_PX,
    getItemKey: useCallback((index: number) => items[index]!.key, [items]),
    initialOffset: () => items.length * TURN_PX,
    gap: GAP_PX,
    overscan: MORE,
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
  return { virtualizer, goTo };
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

const Instructions = ({ text }: { text: string }) => (
  <details>
    <summary className="dim">Instructions</summary>
    <Words text={text} />
  </details>
);

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
