/** The keys that work everywhere: Ctrl K (⌘K) opens the palette, `?` says all of them. */
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { Kbd, Modal, Switch, UnstyledButton } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { areSingleKeysOn, isDialogOpen, setSingleKeys, useKeys } from "../../lib/use-keys.ts";
import { Icon, SHAPES } from "../icon.tsx";
import classes from "./keys.module.css";
import { useOnScreen } from "./on-screen.ts";

const Palette = lazy(async () => ({ default: (await import("./palette.tsx")).Palette }));

const MOD = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘" : "Ctrl";
const KEYS: readonly [keys: string, what: string][] = [
  [`${MOD} K`, "Search, go anywhere, run an agent, say in a sentence what to run, act on what is shown"],
  ["g a", "Agents"],
  ["g r", "Runs"],
  ["g p", "Approvals"],
  ["g e", "Events"],
  ["g s", "Settings"],
  ["j  k", "Next and previous, in a list"],
  ["Enter", "Open it"],
  ["x", "Select the run, with Shift all up to it"],
  ["f  /", "Filter the list"],
  ["a  r", "Approve, reject the open approval"],
  ["←  →", "Fold and unfold a step"],
  [`${MOD} Enter`, "Read the sentence"],
  ["Esc", "Close the step"],
  ["?", "These keys"],
];
const PLACES: ReadonlyMap<string, "/agents" | "/runs" | "/approvals" | "/events" | "/settings"> = new Map([
  ["a", "/agents"],
  ["r", "/runs"],
  ["p", "/approvals"],
  ["e", "/events"],
  ["s", "/settings"],
]);
/** For so long `g` waits for the key after it. */
const GO_MS = 2_000;

export function Keys() {
  const [shown, setShown] = useState<"palette" | "help">();
  const going = useRef<AbortController>(undefined);
  const navigate = useNavigate();
  const close = (): void => setShown(undefined);
  /** The next key says where to. It is nobody else's: on an open approval `a` would approve. */
  const go = (): void => {
    going.current?.abort();
    going.current = new AbortController();
    const { signal } = going.current;
    const timer = setTimeout(() => going.current?.abort(), GO_MS);
    signal.addEventListener("abort", () => clearTimeout(timer));
    const take = (event: KeyboardEvent): void => {
      if (event.key === "Shift") return;
      going.current?.abort();
      const to = PLACES.get(event.key);
      if (!to || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      void navigate({ to, search: {} });
    };
    addEventListener("keydown", take, { capture: true, signal });
  };
  useEffect(() => () => going.current?.abort(), []);
  // Also in a field that takes text.
  useHotkeys([["mod+K", () => !isDialogOpen() && setShown("palette")]], [], true);
  useKeys({ "?": () => setShown("help"), g: go });
  // Also for who has turned `?` off.
  useOnScreen([{ word: "Keyboard shortcuts", act: () => setShown("help") }]);
  return (
    <>
      <UnstyledButton className={classes["open"]} onClick={() => setShown("palette")}>
        <Icon shape={SHAPES.search} size={14} />
        <span className={classes["words"]}>Search or run</span>
        <span className={classes["key"]} aria-hidden="true">
          {MOD} K
        </span>
      </UnstyledButton>
      {shown === "palette" && (
        <Suspense>
          <Palette onClose={close} />
        </Suspense>
      )}
      <Modal
        opened={shown === "help"}
        onClose={close}
        title="Keyboard shortcuts"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <SingleKeys />
        <dl className={classes["keys"]}>
          {KEYS.map(([keys, what]) => (
            <div key={keys}>
              <dt>
                {keys.split("  ").map((one) => (
                  <Kbd key={one}>{one}</Kbd>
                ))}
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
      </Modal>
    </>
  );
}

function SingleKeys() {
  const [isOn, setIsOn] = useState(areSingleKeysOn);
  return (
    <Switch
      label="Single keys"
      description={`Off: only ${MOD} K, Enter, Esc and the arrows do something.`}
      mb="md"
      checked={isOn}
      onChange={({ currentTarget: { checked } }) => {
        setSingleKeys(checked);
        setIsOn(checked);
      }}
    />
  );
}
