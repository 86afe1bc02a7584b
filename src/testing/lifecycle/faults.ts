/**
 * What networks, Stripe and machines do to deliveries. Each value is a probability: of every
 * delivery or, where noted, of every customer or every round.
 */
export type Faults = {
  /** An event is delivered again, although the first delivery was answered. */
  readonly duplicate: number;
  /** A delivery arrives up to `reorderSeconds` late. */
  readonly reorder: number;
  readonly reorderSeconds: number;
  /** A delivery arrives up to `delayHours` late. */
  readonly delay: number;
  readonly delayHours: number;
  /** A delivery is lost, and retried after a back-off. */
  readonly lose: number;
  /** The event is stored, but the response is lost, and the delivery is retried. */
  readonly loseResponse: number;
  /** Several acceptors get the same event at the same time. */
  readonly simultaneous: number;
  /** Per customer: the team is linked between or after the events. */
  readonly linkLate: number;
  /** Per round: no delivery reaches the endpoint for a while. */
  readonly endpointOutage: number;
  /** Per round: nothing can be stored for a while. */
  readonly databaseOutage: number;
  /** Per round: Stripe's API is down for a while. */
  readonly apiOutage: number;
  /** Per round: Stripe's API never returns a subscription again. */
  readonly noSnapshots: number;
  /** The maintenance jobs run between two deliveries. */
  readonly maintenance: number;
};

export const FAULT_NAMES = [
  'duplicate',
  'reorder',
  'delay',
  'lose',
  'loseResponse',
  'simultaneous',
  'linkLate',
  'endpointOutage',
  'databaseOutage',
  'apiOutage',
  'noSnapshots',
  'maintenance',
] as const satisfies readonly (keyof Faults)[];

export type FaultName = (typeof FAULT_NAMES)[number];

export const DEFAULT_FAULTS: Faults = {
  duplicate: 0.3,
  reorder: 0.4,
  reorderSeconds: 5,
  delay: 0.05,
  delayHours: 72,
  lose: 0.1,
  loseResponse: 0.05,
  simultaneous: 0.05,
  linkLate: 0.4,
  endpointOutage: 0.2,
  databaseOutage: 0.2,
  apiOutage: 0.3,
  noSnapshots: 0.3,
  maintenance: 0.05,
};

/** How often each fault happened. */
export type FaultCounts = Record<FaultName, number>;

export function noFaults(): FaultCounts {
  return Object.fromEntries(FAULT_NAMES.map((name) => [name, 0])) as FaultCounts;
}

/** Adds counts to a sum, which it changes. */
export function addFaults(sum: FaultCounts, counts: Readonly<FaultCounts>): void {
  for (const name of FAULT_NAMES) sum[name] += counts[name];
}
