import { createContext, use, useState } from "react";

/** The names of what is open in an item of a list that takes its items out of the page: it comes back so. */
export const OpenedContext = createContext<Set<string> | undefined>(undefined);

/** Whether it is open, and how to say so. `name`: unique in its item. */
export function useOpened(name: string): [isOpen: boolean, open: (isOpen: boolean) => void] {
  const opened = use(OpenedContext);
  const [isOpen, setIsOpen] = useState(() => opened?.has(name) ?? false);
  const open = (next: boolean): void => {
    setIsOpen(next);
    if (next) opened?.add(name);
    else opened?.delete(name);
  };
  return [isOpen, open];
}
