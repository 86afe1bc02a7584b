export const LOGGED_OUTCOMES = ['applied', 'unchanged', 'stale', 'parked', 'unreadable'] as const;

/** The outcome of an event in the log. A duplicate has no row of its own: it counts as a delivery. */
export type LoggedOutcome = (typeof LOGGED_OUTCOMES)[number];

/** An event as it is read from the log. */
export type LoggedEvent = {
  /** Its place in the order of arrival. */
  readonly position: number;
  readonly key: string;
  readonly eventId: string | null;
  readonly type: string;
  readonly outcome: LoggedOutcome;
  readonly receivedAtMs: number;
  readonly body: Uint8Array;
};
