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

export function jsonAnswer(
  value: unknown,
  {
    status = 200,
    headers = {},
  }: { status?: number; headers?: Readonly<Record<string, string>> } = {},
): Answer {
  return { status, headers: { ...ALWAYS, ...headers }, body: JSON.stringify(value) };
}
