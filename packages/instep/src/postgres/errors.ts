import type { ApplicationId } from '../core/application-id.ts';
import { DeadlineExceeded } from '../runtime/deadline.ts';
import { InstepError } from '../runtime/errors.ts';

/** The database can't be reached, is too slow, or is not able to write now: try again later. */
export class DatabaseUnavailable extends InstepError {
  readonly code = 'DATABASE_UNAVAILABLE';
}

/** The database is available, but another transaction has locked rows that we need: try again later. */
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

/** The database understood and refused the values: a constraint, a type, a length. */
export class DatabaseRefused extends InstepError {
  readonly code = 'DATABASE_REFUSED';
  /** The teams of the event that was refused, where they are known. */
  teamIds: readonly ApplicationId[] = [];
}

/**
 * Cardinality, data exceptions, constraints, check options of views, program limits; and errors that the
 * application's own triggers and functions raise (09, 27, 38, 39, P0).
 */
const REFUSED_CLASSES = new Set(['21', '22', '23', '44', '54', '09', '27', '38', '39', 'P0']);

/** Authorization, unknown database, unknown schema, syntax and access rules. */
const UNUSABLE_CLASSES = new Set(['28', '3D', '3F', '42']);

/** Serialization failures, deadlocks. */
const CONFLICT_STATES = new Set(['40001', '40P01']);

/** Lock and statement timeouts. */
const BUSY_STATES = new Set(['55P03', '57014']);

/**
 * Converts an error of `pg` into one of the errors above, by its SQLSTATE. An unknown error counts as
 * unavailable, so that the event gets a 503 and is sent again.
 */
export function databaseError(cause: unknown): InstepError {
  if (cause instanceof DeadlineExceeded) {
    return new DatabaseUnavailable('the database did not answer in time', { cause });
  }
  if (cause instanceof InstepError) return cause;
  const state = sqlState(cause);
  const kind = state.slice(0, 2);
  const message = messageOf(cause);
  if (REFUSED_CLASSES.has(kind)) return new DatabaseRefused(message, { cause });
  if (UNUSABLE_CLASSES.has(kind)) return new DatabaseUnusable(message, { cause });
  if (CONFLICT_STATES.has(state)) return new DatabaseConflict(message, { cause });
  if (BUSY_STATES.has(state)) return new DatabaseBusy(message, { cause });
  if (isUnknownIssuer(cause)) return new DatabaseUnusable(`${message}: ${TRUST_IT}`, { cause });
  return new DatabaseUnavailable(message, { cause });
}

/** The error when no server accepts a connection. It is permanent only if each server's error is. */
export function errorOfServers(causes: readonly unknown[], hosts: readonly string[]): InstepError {
  const errors = causes.map(databaseError);
  const [first] = errors;
  if (first !== undefined && errors.length === 1) return first;
  const message = errors.map((error, index) => `${hosts[index]}: ${error.message}`).join('; ');
  const isPermanent = errors.every((error) => error instanceof DatabaseUnusable);
  const Kind = isPermanent ? DatabaseUnusable : DatabaseUnavailable;
  return new Kind(message, { cause: new AggregateError(errors) });
}

/** Node's error codes for certificates with an unknown issuer. */
const UNKNOWN_ISSUER = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

const TRUST_IT =
  "set sslrootcert=/path/to/ca.pem in DATABASE_URL to the issuer's certificate, or " +
  'sslmode=no-verify to encrypt without verifying the server';

function isUnknownIssuer(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && UNKNOWN_ISSUER.has(String(cause.code));
}

/** A refused connection to a host name with several addresses throws one error without a message. */
function messageOf(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(messageOf).join('; ');
  return cause instanceof Error && cause.message !== '' ? cause.message : 'the database failed';
}

/** The five characters of an error's SQLSTATE; empty when it did not come from PostgreSQL. */
export function sqlState(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : '';
}
