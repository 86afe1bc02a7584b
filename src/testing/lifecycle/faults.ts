/**
 * What networks, Stripe and machines do to deliveries. Each is a probability, of every delivery or,
 * where it says so, of every customer or every round.
 */
export type Faults = {
  /** An event is delivered once more, although the first time was answered. */
  readonly duplicate: number;
  /** A delivery comes up to `reorderSeconds` later than it would have. */
  readonly reorder: number;
  readonly reorderSeconds: number;
  /** A delivery comes hours later. */
  readonly delay: number;
  readonly delayHours: number;
  /** An attempt gets lost on its way, and is repeated after a back-off. */
  readonly lose: number;
  /** It is stored, the answer gets lost, and it is repeated after a back-off. */
  readonly loseAnswer: number;
  /** Several acceptors get the same event at the same time. */
  readonly simultaneous: number;
  /** A customer's team is linked among or after its events, and not before them. */
  readonly linkLate: number;
  /** Of a round: for a while no attempt reaches the endpoint. */
  readonly endpointOutage: number;
  /** Of a round: for a while nothing can be stored. */
  readonly databaseOutage: number;
  /** Of a round: for a while the API neither names products nor shows subscriptions. */
  readonly apiOutage: number;
  /** The keeper has a turn between two deliveries. */
  readonly keeper: number;
};

export const FAULT_NAMES = [
  'duplicate',
  'reorder',
  'delay',
  'lose',
  'loseAnswer',
  'simultaneous',
  'linkLate',
  'endpointOutage',
  'databaseOutage',
  'apiOutage',
  'keeper',
] as const satisfies readonly (keyof Faults)[];

export type FaultName = (typeof FAULT_NAMES)[number];

export const DEFAULT_FAULTS: Faults = {
  duplicate: 0.3,
  reorder: 0.4,
  reorderSeconds: 5,
  delay: 0.05,
  delayHours: 72,
  lose: 0.1,
  loseAnswer: 0.05,
  simultaneous: 0.05,
  linkLate: 0.4,
  endpointOutage: 0.2,
  databaseOutage: 0.2,
  apiOutage: 0.3,
  keeper: 0.05,
};

export type FaultCounts = Readonly<Record<FaultName, number>>;

/** Counts how often each fault happened. */
export function noFaults(): Record<FaultName, number> {
  return {
    duplicate: 0,
    reorder: 0,
    delay: 0,
    lose: 0,
    loseAnswer: 0,
    simultaneous: 0,
    linkLate: 0,
    endpointOutage: 0,
    databaseOutage: 0,
    apiOutage: 0,
    keeper: 0,
  };
}

/** Adds counts to others. */
export function addFaults(sum: Record<FaultName, number>, counts: FaultCounts): void {
  for (const name of FAULT_NAMES) sum[name] += counts[name];
}
