/** All codes of Instep's errors. `docs/errors.md` has the cause and remedy of each. */
export const INSTEP_ERROR_CODES = [
  'ALERT_FAILED',
  'APPLICATION_TABLES_UNFIT',
  'BODY_ALREADY_READ',
  'BODY_NOT_JSON',
  'CHANGE_UNKNOWN',
  'CHECKOUT_NOT_COMPLETE',
  'CHECKOUT_OF_ANOTHER_TEAM',
  'CONFIG_INVALID',
  'CONSUMER_NAME_INVALID',
  'CONSUMER_UNKNOWN',
  'CUSTOMER_UNKNOWN',
  'CUSTOMER_WITHOUT_TEAM',
  'DATABASE_BUSY',
  'DATABASE_CONFLICT',
  'DATABASE_REFUSED',
  'DATABASE_UNAVAILABLE',
  'DATABASE_UNUSABLE',
  'DEADLINE_EXCEEDED',
  'DOCTOR_FAILED',
  'DRIFT_LEFT',
  'INIT_REFUSED',
  'EMBEDDED_POSTGRES_FOLDER_UNFIT',
  'EMBEDDED_POSTGRES_MISSING',
  'EMBEDDED_POSTGRES_RELEASED',
  'EMBEDDED_POSTGRES_START_FAILED',
  'EMBEDDED_POSTGRES_UNREACHABLE',
  'EMBEDDED_POSTGRES_VERSION_DIFFERS',
  'EVENT_AMBIGUOUS',
  'HTTP_ERROR',
  'LISTEN_FAILED',
  'MEMBERS_UNKNOWN',
  'NOT_FOUND',
  'PAGE_PROBLEM',
  'QUEUE_FULL',
  'REBUILD_INCOMPLETE',
  'RECONCILIATION_FAILED',
  'RECONCILIATION_RUNNING',
  'REPLAY_FAILED',
  'SCHEMA_IN_USE',
  'SCHEMA_NEWER',
  'SCHEMA_OUTDATED',
  'SCHEMA_SHARED',
  'SHUTTING_DOWN',
  'SIGNATURE_INVALID',
  'STOPPED',
  'STRIPE_API_FAILED',
  'STRIPE_KEY_FORBIDDEN',
  'STRIPE_UNAVAILABLE',
  'TEAM_HAS_ANOTHER_CUSTOMER',
  'TEAM_NOT_LINKED',
  'TRIGGER_FAILED',
] as const;

export type InstepErrorCode = (typeof INSTEP_ERROR_CODES)[number];

/**
 * The base of every error that Instep throws on purpose. `code` is stable: branch on it, never on the
 * message. The message says what to do and never contains a secret.
 */
export abstract class InstepError extends Error {
  abstract readonly code: InstepErrorCode;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

const MAX_TEXT_LENGTH = 4_000;

/**
 * The text of anything that the app's code can throw. It never throws itself: a message can be an object, and an object
 * can have no text at all.
 */
export function errorText(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown).slice(0, MAX_TEXT_LENGTH);
  } catch {
    return 'an error without a text';
  }
}

/** The code of an error, which can be Node's or a package's; `null` when it has none. */
export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error && 'code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

/** An error with one of several codes. */
export abstract class CodedError<Code extends InstepErrorCode> extends InstepError {
  readonly code: Code;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
