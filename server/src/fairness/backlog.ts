/** The work that waits for something organizations share, such as the connections to the database. */
export type Backlog = {
  /** Whether anything waits. */
  isContended(): boolean;
  /** How much of an organization's waits, and for about how long the next one would, ms. */
  of(organizationId: string): { waiting: number; ms: number };
};
