/** Commands for the objects that a page shows, for the palette. */
import { useEffect, useEffectEvent } from "react";
import { Store } from "../../lib/store.ts";

export type OnScreen = { word: string; act: () => unknown };

export const onScreen = new Store<readonly OnScreen[]>([]);

/** Offers these as long as the component is there. */
export function useOnScreen(acts: readonly OnScreen[]): void {
  const act = useEffectEvent((index: number) => acts[index]?.act());
  const words = JSON.stringify(acts.map(({ word }) => word));
  useEffect(() => {
    const ours = (JSON.parse(words) as string[]).map((word, index) => ({ word, act: () => act(index) }));
    onScreen.set([...onScreen.get(), ...ours]);
    return () => onScreen.set(onScreen.get().filter((one) => !ours.includes(one)));
  }, [words]);
}
