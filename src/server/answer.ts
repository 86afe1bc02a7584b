/** An answer before it is one of HTTP's, for whatever server sends it. */
export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** On every answer: what we say is of one moment, and of one kind. */
const ALWAYS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
};

/** The headers of answers that need others besides. */
export function headersWith(others: Answer['headers']): Answer['headers'] {
  return { ...ALWAYS, ...others };
}

export function jsonAnswer(
  value: unknown,
  { status = 200, headers = ALWAYS }: { status?: number; headers?: Answer['headers'] } = {},
): Answer {
  return { status, headers, body: JSON.stringify(value) };
}
