/** What the system calls an error (`ENOENT`, `EACCES`, …); empty when it has no such name. */
export function systemErrorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' && /^E[A-Z0-9]+$/.test(error.code) ? error.code : '';
}
