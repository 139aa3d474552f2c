/** Events of a subscription of which many are alike. */
export type Values = Readonly<Record<string, string | number>>;

/** Those that are alike have values that stand in their answers as they are, and nothing else of their own. */
export type Repeated<Event> = {
  source: AsyncIterator<Event>;
  /** Undefined for an event of another kind. */
  valuesOf(event: Event): Values | undefined;
  /** No value is like another one, or like any that answers have. */
  marks: Values;
  /** The same event with the marks as its values. */
  marked(event: Event): Event;
};
