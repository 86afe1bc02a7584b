/** The faults of networks, Stripe, machines and the application, with their default probabilities. */
export const FAULTS = {
  duplicate: { probability: 0.3, help: 'an event is delivered again' },
  reorder: { probability: 0.4, help: 'an event arrives up to --reorder-seconds late' },
  delay: { probability: 0.05, help: 'an event arrives up to --delay-hours late' },
  lose: { probability: 0.1, help: 'a delivery is lost and retried' },
  loseResponse: { probability: 0.05, help: 'the response is lost and the delivery is retried' },
  simultaneous: {
    probability: 0.05,
    help: 'several ingest pipelines get an event at the same time',
  },
  linkLate: {
    probability: 0.4,
    help: 'per customer: the team is linked between or after its events',
  },
  relink: {
    probability: 0.2,
    help: 'per customer: its team is moved, recreated or duplicated',
  },
  checkout: {
    probability: 0.2,
    help: 'per customer: the application writes a plan into its team',
  },
  redirect: {
    probability: 0.3,
    help: 'per subscription: the browser comes back from its checkout, and the application completes it',
  },
  gift: {
    probability: 0.2,
    help: 'per customer: the application gives its team a plan without a subscription',
  },
  endpointOutage: { probability: 0.2, help: 'per round: the endpoint is down for a while' },
  databaseOutage: { probability: 0.2, help: 'per round: the database is down for a while' },
  apiOutage: { probability: 0.3, help: "per round: Stripe's API is down for a while" },
  noSnapshots: {
    probability: 0.3,
    help: "per round: Stripe's API never returns a subscription again",
  },
  maintenance: { probability: 0.05, help: 'the maintenance jobs run between two deliveries' },
} as const;

export type FaultName = keyof typeof FAULTS;

export const FAULT_NAMES = Object.keys(FAULTS) as readonly FaultName[];

/** The probability of each fault, and the maximum delays. */
export type Faults = Readonly<Record<FaultName, number>> & {
  readonly reorderSeconds: number;
  readonly delayHours: number;
};

export const DEFAULT_FAULTS: Faults = {
  ...forEachFault((name) => FAULTS[name].probability),
  reorderSeconds: 5,
  delayHours: 72,
};

/** How often each fault happened. */
export type FaultCounts = Record<FaultName, number>;

export const noFaults = (): FaultCounts => forEachFault(() => 0);

/** Adds counts to a sum, which it changes. */
export function addFaults(sum: FaultCounts, counts: Readonly<FaultCounts>): void {
  for (const name of FAULT_NAMES) sum[name] += counts[name];
}

function forEachFault(valueFor: (name: FaultName) => number): FaultCounts {
  return Object.fromEntries(FAULT_NAMES.map((name) => [name, valueFor(name)])) as FaultCounts;
}
