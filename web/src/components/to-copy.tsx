import { CopyButton } from "./copy-button.tsx";
import classes from "./to-copy.module.css";

/** A text to take along, whole. `label`: what its button does, as in "Copy the link". */
export const ToCopy = ({ text, label }: { text: string; label: string }) => (
  <div className={classes["line"]}>
    <pre>{text}</pre>
    <CopyButton text={text} label={label} isBare />
  </div>
);
