/** The keys that work everywhere: Ctrl K (⌘K) opens the palette, `?` says all of them. */
import { Suspense, useEffect, useRef, useState } from "react";
import { UnstyledButton } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { later } from "../../lib/later.ts";
import { isDialogOpen, useKeys } from "../../lib/use-keys.ts";
import { PLACES } from "../places.ts";
import { Icon, SHAPES } from "../icon.tsx";
import classes from "./keys.module.css";
import { MOD } from "./mod.ts";

const Palette = later(async () => (await import("./palette.tsx")).Palette);
const KeyHelp = later(async () => (await import("./key-help.tsx")).KeyHelp);

/** For so long `g` waits for the key after it. */
const GO_MS = 2_000;

export function Keys() {
  const [shown, setShown] = useState<"palette" | "help">();
  const going = useRef<AbortController>(undefined);
  const navigate = useNavigate();
  const close = (): void => setShown(undefined);
  const help = (): void => setShown("help");
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
      const place = PLACES.find(({ key }) => key === event.key);
      if (!place || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      void navigate({ to: place.to, search: {} });
    };
    addEventListener("keydown", take, { capture: true, signal });
  };
  useEffect(() => () => going.current?.abort(), []);
  // Also in a field that takes text.
  useHotkeys([["mod+K", () => !isDialogOpen() && setShown("palette")]], [], true);
  useKeys({ "?": help, g: go });
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
          <Palette onClose={close} onHelp={help} />
        </Suspense>
      )}
      {shown === "help" && (
        <Suspense>
          <KeyHelp onClose={close} />
        </Suspense>
      )}
    </>
  );
}
