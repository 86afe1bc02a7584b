// The errors of the database, and what is done after each (docs/ARCHITECTURE.md, "What is retried"). database.ts
// converts and repeats; code that works on several events or teams asks whether the others can succeed.

import { DeadlineExceeded } from '../runtime/deadline.ts';
import { InstepError } from '../runtime/errors.ts';

/** The database can't be reached, is too slow, or is not able to write now: try again later. */
export class DatabaseUnavailable extends InstepError {
  readonly code = 'DATABASE_UNAVAILABLE';
}

/**
 * The database is available, but another transaction has locked rows that we need, or a statement took too long, for
 * example because a trigger of the application waits: try again later.
 */
export class DatabaseBusy extends InstepError {
  readonly code = 'DATABASE_BUSY';
}

/** Our transaction conflicted with another one and was rolled back: an immediate retry can succeed. */
export class DatabaseConflict extends InstepError {
  readonly code = 'DATABASE_CONFLICT';
}

/** The database answers, but we can't use it: a wrong password, a missing privilege or table. */
export class DatabaseUnusable extends InstepError {
  readonly code = 'DATABASE_UNUSABLE';
}

type Refusal = { readonly constraint?: unknown; readonly constraint_name?: unknown };

/** The database understood and refused the values: a constraint, a type, a length, a trigger, a policy. */
export class DatabaseRefused extends InstepError {
  readonly code = 'DATABASE_REFUSED';
  /** The teams of the event that was refused, where they are known. */
  teamIds: readonly (number | string)[] = [];

  /** The constraint that refused it; `null`: something else did. */
  get constraint(): string | null {
    // By `pg` and Neon's driver, or by `postgres`.
    const { constraint, constraint_name: name = constraint }: Refusal = Object(this.cause);
    return typeof name === 'string' ? name : null;
  }
}

/**
 * What is done after an error:
 *
 * - `repeat`: the transaction runs again at once.
 * - `unprepare`: it runs again, and statements are no longer prepared.
 * - `give up`: the server or our access to it is the cause, so nothing else would succeed there.
 * - `blame the event`: one event can be the cause, so the others of its batch are tried without it.
 *
 * What a transaction can't solve by itself is left to its caller, for whom all but `give up` means that one event
 * can be the cause.
 */
export type NextStep = 'repeat' | 'unprepare' | 'give up' | 'blame the event';

type ErrorClass = new (message: string, options: ErrorOptions) => InstepError;

type Policy = { kind: ErrorClass; nextStep: NextStep; remedy?: string };

type RetryPolicyEntry = Policy & {
  /** SQLSTATEs, or the characters that they begin with. */
  states: readonly string[];
  /** The routine of PostgreSQL that throws it, where the SQLSTATE alone can mean something else. */
  routine?: string;
};

/** The first entry that matches counts; docs/ARCHITECTURE.md has them as a table. */
const RETRY_POLICY: readonly RetryPolicyEntry[] = [
  // Serialization failures, deadlocks.
  { states: ['40001', '40P01'], kind: DatabaseConflict, nextStep: 'repeat' },
  // A prepared statement that is unknown, that exists already, or whose columns have changed.
  { states: ['26000', '42P05'], kind: DatabaseUnusable, nextStep: 'unprepare' },
  {
    states: ['0A000'],
    routine: 'RevalidateCachedQuery',
    kind: DatabaseUnusable,
    nextStep: 'unprepare',
  },
  // A table, column or schema that is gone.
  {
    states: ['42P01', '42703', '3F000'],
    kind: DatabaseUnusable,
    nextStep: 'blame the event',
    remedy: 'if a migration of your app has renamed it, restart Instep',
  },
  // Lock and statement timeouts.
  { states: ['55P03', '57014'], kind: DatabaseBusy, nextStep: 'blame the event' },
  // Connections, resources, shutdowns, files, internal errors; a read-only server; a session that was ended.
  {
    states: ['08', '53', '57P', '58', 'XX', '25006', '25P03', '25P04'],
    kind: DatabaseUnavailable,
    nextStep: 'give up',
  },
  // No line of pg_hba.conf lets us in. Most often, the one that would is for connections with TLS.
  {
    states: ['28000'],
    routine: 'ClientAuthentication',
    kind: DatabaseUnusable,
    nextStep: 'give up',
    remedy: 'if the server requires TLS, add sslmode=verify-full to DATABASE_URL',
  },
  // The role can't log in, or the database does not exist.
  { states: ['28', '3D'], kind: DatabaseUnusable, nextStep: 'give up' },
  // Syntax and privileges. Statements that one team's trigger runs can lack them too.
  { states: ['42', '3F'], kind: DatabaseUnusable, nextStep: 'blame the event' },
];

/** Anything else, such as constraints, data that does not fit, and what the application's triggers raise. */
const REFUSED: Policy = { kind: DatabaseRefused, nextStep: 'blame the event' };

/** For errors that did not come from PostgreSQL: the connection has failed. */
const UNANSWERED: Policy = { kind: DatabaseUnavailable, nextStep: 'give up' };

/**
 * The routines of PostgreSQL that throw what the application refuses: PL/pgSQL's `raise`, which can have any
 * SQLSTATE, and the checks of views and of row level security.
 */
const REFUSALS = new Set(['exec_stmt_raise', 'ExecWithCheckOptions']);

/** What `raise` can throw like PostgreSQL itself, because the transaction then does the same. */
const ALSO_RAISED = new Set<ErrorClass>([DatabaseConflict, DatabaseBusy]);

function policyFor(cause: unknown): Policy {
  const state = sqlState(cause);
  if (state === '') return UNANSWERED;
  const routine = cause instanceof Error && 'routine' in cause ? String(cause.routine) : '';
  const found = RETRY_POLICY.find(
    (entry) =>
      entry.states.some((beginning) => state.startsWith(beginning)) &&
      (entry.routine ?? routine) === routine,
  );
  if (found === undefined) return REFUSED;
  return REFUSALS.has(routine) && !ALSO_RAISED.has(found.kind) ? REFUSED : found;
}

/** Converts an error of `pg` into one of the errors above. */
export function databaseError(cause: unknown): InstepError {
  if (cause instanceof DeadlineExceeded) {
    return new DatabaseUnavailable('the database did not answer in time', { cause });
  }
  if (cause instanceof InstepError) return cause;
  const message = messageOf(cause);
  if (isUnknownIssuer(cause)) return new DatabaseUnusable(`${message}: ${TRUST_IT}`, { cause });
  const { kind, remedy } = policyFor(cause);
  return new kind(remedy === undefined ? message : `${message}: ${remedy}`, { cause });
}

/** What is done after an error, which `databaseError` has converted if it is one of the database. */
export function nextStepAfter(error: unknown): NextStep {
  if (error instanceof DatabaseConflict) return 'repeat';
  if (error instanceof DatabaseBusy) return 'blame the event';
  if (error instanceof DatabaseRefused && error.cause === undefined) return REFUSED.nextStep;
  const hasPolicy = error instanceof DatabaseUnusable || error instanceof DatabaseRefused;
  return hasPolicy ? policyFor(error.cause).nextStep : 'give up';
}

/** What to check when a database can't be used at all. */
export const CHECK_CONNECTION =
  'check that it is running, and check the host, user, password and name in its URL';

/** Whether the server failed or refused access, rather than a statement, or what we do between two statements. */
export function isOfServer(error: unknown): error is InstepError {
  const isOfDatabase = error instanceof DatabaseUnavailable || error instanceof DatabaseUnusable;
  return isOfDatabase && nextStepAfter(error) === 'give up';
}

/** Whether `isOfServer`, and the message does not say what to do, as our own do. */
export function isOfConnection(error: unknown): error is InstepError {
  return isOfServer(error) && error.cause !== undefined && !isUnknownIssuer(error.cause);
}

/**
 * Whether other events and teams can succeed after this error, because one can be its cause: the server works, and it
 * is no `Stopped` or `QueueFull`. An error that is not ours is a bug, which not all events need meet.
 */
export function canOthersSucceed(error: unknown): error is Error {
  if (error instanceof InstepError) return nextStepAfter(error) !== 'give up';
  return error instanceof Error;
}

/** Node's error codes for certificates with an unknown issuer, such as SELF_SIGNED_CERT_IN_CHAIN. */
const UNKNOWN_ISSUER = /SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER_CERT|VERIFY_LEAF_SIGNATURE)/;

const TRUST_IT =
  "set DATABASE_CA to the issuer's certificate or the path of its file or, to encrypt without verifying the server, " +
  'sslmode=no-verify in DATABASE_URL';

function isUnknownIssuer(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && UNKNOWN_ISSUER.test(String(cause.code));
}

/** A refused connection to a host name with several addresses throws one error without a message. */
function messageOf(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(messageOf).join('; ');
  return cause instanceof Error && cause.message !== '' ? cause.message : 'the database failed';
}

/** The five characters of an error's SQLSTATE, or of its cause's; empty when it did not come from PostgreSQL. */
function sqlState(error: unknown): string {
  if (error instanceof InstepError) return sqlState(error.cause);
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  // An error of Node.js: EPIPE would be one.
  if ('syscall' in error) return '';
  return typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : '';
}
