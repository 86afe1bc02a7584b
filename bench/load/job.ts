/** `changes`: each event changes its team and is sent once. `renewals`: see `renewals.ts`. */
export type EventMix = 'changes' | 'renewals';

/** The requests of a job. Each delivery is sent once; profile reads repeat. */
export type Requests =
  | {
      readonly kind: 'events';
      readonly path: string;
      readonly secret: string;
      readonly mix: EventMix;
      readonly teams: number;
      /** The number of the first delivery, and the maximum number of deliveries. */
      readonly first: number;
      readonly count: number;
      /** Whether each event is signed when it is sent, for loads that do not fit into memory. */
      readonly isSignedLate: boolean;
    }
  | {
      readonly kind: 'profiles';
      readonly path: string;
      /** A `Cookie` header and what the response must contain. */
      readonly users: readonly { readonly cookie: string; readonly proof: string }[];
    };

export type Job = {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** The requests per second, answered or not; `null`: each one after the previous response. */
  readonly ratePerSecond: number | null;
  readonly requests: Requests;
};

export type Load = {
  /** The requests with a correct response. */
  readonly answered: number;
  /** The count of each failure: a status, `wrong` for a wrong body, or `ended`. */
  readonly failures: Readonly<Record<string, number>>;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The processor time of the sender. */
  readonly senderCpuMs: number;
};
