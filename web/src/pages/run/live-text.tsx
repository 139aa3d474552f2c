import classes from "./conversation.module.css";

/** A text that a model is writing. It is read aloud when it is whole. */
export const LiveText = ({ text }: { text: string }) => (
  <section className={classes["words"]} aria-label="Text so far" aria-busy>
    {text}
  </section>
);
