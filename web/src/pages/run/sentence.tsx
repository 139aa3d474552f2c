/** The sentence that a run's input was read from. */
import { useState } from "react";
import classes from "./run.module.css";

const FOLDED = 200;

export function Sentence({ text }: { text: string }) {
  const [isOpen, setIsOpen] = useState(false);
  const isLong = text.length > FOLDED;
  return (
    <p className={classes["sentence"]}>
      said: “{isLong && !isOpen ? `${beginningOf(text)}…` : text}”{" "}
      {isLong && (
        <button type="button" className={classes["show"]} aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? "Less" : "Show all"}
        </button>
      )}
    </p>
  );
}

/** Up to the last space, and never half a character. */
function beginningOf(text: string): string {
  const cut = text.slice(0, FOLDED).replace(/[\uD800-\uDBFF]$/, "");
  const space = cut.lastIndexOf(" ");
  return (space > FOLDED / 2 ? cut.slice(0, space) : cut).trimEnd();
}
