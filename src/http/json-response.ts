/** On every answer: what we say is of one moment, and of one kind. */
const ALWAYS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
};

/** An answer made at once: headers that are added to one later cost more than all else of it. */
export function jsonResponse(
  value: unknown,
  {
    status = 200,
    headers = {},
  }: { status?: number; headers?: Readonly<Record<string, string>> } = {},
): Response {
  return new Response(JSON.stringify(value), { status, headers: { ...ALWAYS, ...headers } });
}
