/** What is sent. Each is used once, but those of `repeated`, which come in turns. */
export type Requests =
  | {
      readonly kind: 'events';
      readonly path: string;
      readonly secret: string;
      readonly teams: number;
      /** The number of the first event, and how many there are at most. */
      readonly first: number;
      readonly count: number;
      /** Whether each is signed when it is sent: for loads that are too long to be kept. */
      readonly isSignedLate: boolean;
    }
  | {
      readonly kind: 'profiles';
      readonly path: string;
      /** A `Cookie` header and what the answer must contain. */
      readonly users: readonly { readonly cookie: string; readonly proof: string }[];
    };

export type Job = {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** How many are sent each second, answered or not; `null`: one after the other's answer. */
  readonly ratePerSecond: number | null;
  readonly requests: Requests;
};

export type Load = {
  /** Those answered 200 with what was asked for; all that were sent, when there is no failure. */
  readonly answered: number;
  /** What else was answered, and how often: a status, `wrong` for a wrong body, or `ended`. */
  readonly failures: Readonly<Record<string, number>>;
  readonly elapsedMs: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** What the sending itself took. */
  readonly senderCpuMs: number;
};
