/** The newest API version whose objects we know. All requests use it. */
export const NEWEST_KNOWN_VERSION = '2026-10-28.endive';

/** Whether the version, which is named after its date, is not newer than the newest one that we know. */
export function isKnownVersion(apiVersion: string): boolean {
  const [day = ''] = /^\d{4}-\d\d-\d\d/.exec(apiVersion) ?? [];
  return day !== '' && day <= NEWEST_KNOWN_VERSION.slice(0, day.length);
}
