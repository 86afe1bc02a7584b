// The errors of the database, and what is done after each (docs/ARCHITECTURE.md, "What is retried"). database.ts
// converts and repeats; code that works on several events or teams asks whether the others can succeed.

import { DeadlineExceeded } from '../runtime/deadline.ts';
import { InstepError } from '../runtime/errors.ts';

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

export abstract class DatabaseError extends InstepError {
  abstract readonly nextStep: NextStep;
}

/** The database can't be reached, is too slow, or is not able to write now: try again later. */
export class DatabaseUnavailable extends DatabaseError {
  readonly code = 'DATABASE_UNAVAILABLE';
  readonly nextStep = 'give up';
}

/**
 * The database is available, but another transaction has locked rows that we need, or a statement took too long, for
 * example because a trigger of the application waits: try again later.
 */
export class DatabaseBusy extends DatabaseError {
  readonly code = 'DATABASE_BUSY';
  readonly nextStep = 'blame the event';
}

/** Our transaction conflicted with another one and was rolled back: an immediate retry can succeed. */
export class DatabaseConflict extends DatabaseError {
  readonly code = 'DATABASE_CONFLICT';
  readonly nextStep = 'repeat';
}

/** The database answers, but we can't use it: a wrong password, a missing privilege or table. */
export class DatabaseUnusable extends DatabaseError {
  readonly code = 'DATABASE_UNUSABLE';
  readonly nextStep: NextStep;

  constructor(message: string, options?: ErrorOptions, nextStep: NextStep = 'give up') {
    super(message, options);
    this.nextStep = nextStep;
  }
}

type Refusal = { readonly constraint?: unknown; readonly constraint_name?: unknown };

/** The database understood and refused the values: a constraint, a type, a length, a trigger, a policy. */
export class DatabaseRefused extends DatabaseError {
  readonly code = 'DATABASE_REFUSED';
  readonly nextStep = 'blame the event';
  /** The teams of the event that was refused, where they are known. */
  teamIds: readonly (number | string)[] = [];

  /** The constraint that refused it; `null`: something else did. */
  get constraint(): string | null {
    // By `pg` and Neon's driver, or by `postgres`.
    const { constraint, constraint_name: name = constraint }: Refusal = Object(this.cause);
    return typeof name === 'string' ? name : null;
  }
}

type Kind = {
  kind: new (message: string, options: ErrorOptions, nextStep?: NextStep) => DatabaseError;
  /** SQLSTATEs, or the characters that they begin with. */
  states: readonly string[];
  /** The routine of PostgreSQL that throws it, where the SQLSTATE alone can mean something else. */
  routine?: string;
  /** Where the kind has several. */
  nextStep?: NextStep;
  remedy?: string;
};

const UNPREPARE = { kind: DatabaseUnusable, nextStep: 'unprepare' } as const;

/** The first entry that matches counts; docs/ARCHITECTURE.md has them as a table. */
const KINDS: readonly Kind[] = [
  // Serialization failures, deadlocks.
  { states: ['40001', '40P01'], kind: DatabaseConflict },
  // A prepared statement that is unknown, that exists already, or whose columns have changed.
  { states: ['26000', '42P05'], ...UNPREPARE },
  { states: ['0A000'], routine: 'RevalidateCachedQuery', ...UNPREPARE },
  // A table, column or schema that is gone.
  {
    states: ['42P01', '42703', '3F000'],
    kind: DatabaseUnusable,
    nextStep: 'blame the event',
    remedy: 'if a migration of your app has renamed it, restart Instep',
  },
  // Lock and statement timeouts.
  { states: ['55P03', '57014'], kind: DatabaseBusy },
  // Connections, resources, shutdowns, files, internal errors; a read-only server; a session that was ended.
  { states: ['08', '53', '57P', '58', 'XX', '25006', '25P03', '25P04'], kind: DatabaseUnavailable },
  // No line of pg_hba.conf lets us in. Most often, the one that would is for connections with TLS.
  {
    states: ['28000'],
    routine: 'ClientAuthentication',
    kind: DatabaseUnusable,
    remedy: 'if the server requires TLS, add sslmode=verify-full to DATABASE_URL',
  },
  // The role can't log in, or the database does not exist.
  { states: ['28', '3D'], kind: DatabaseUnusable },
  // Syntax and privileges. Statements that one team's trigger runs can lack them too.
  { states: ['42', '3F'], kind: DatabaseUnusable, nextStep: 'blame the event' },
];

/**
 * The routines of PostgreSQL that throw what the application refuses: PL/pgSQL's `raise`, which can have any
 * SQLSTATE, and the checks of views and of row level security.
 */
const REFUSALS = new Set(['exec_stmt_raise', 'ExecWithCheckOptions']);

/** What `raise` can throw like PostgreSQL itself, because the transaction then does the same. */
const ALSO_RAISED = new Set<Kind['kind']>([DatabaseConflict, DatabaseBusy]);

function kindOf(cause: unknown): Pick<Kind, 'kind' | 'nextStep' | 'remedy'> {
  if (isUnknownIssuer(cause)) return { kind: DatabaseUnusable, remedy: TRUST_IT };
  const state = sqlState(cause);
  // It did not come from PostgreSQL: the connection has failed.
  if (state === '') return { kind: DatabaseUnavailable };
  const thrownBy = cause instanceof Error && 'routine' in cause ? String(cause.routine) : '';
  const found = KINDS.find(
    ({ states, routine = thrownBy }) =>
      states.some((beginning) => state.startsWith(beginning)) && routine === thrownBy,
  );
  const isRefusal = found === undefined || (REFUSALS.has(thrownBy) && !ALSO_RAISED.has(found.kind));
  // Also constraints, data that does not fit, and whatever else no entry has.
  return isRefusal ? { kind: DatabaseRefused } : found;
}

/** Converts an error of a driver into one of the errors above. */
export function databaseError(cause: unknown): InstepError {
  if (cause instanceof DeadlineExceeded) {
    return new DatabaseUnavailable('the database did not answer in time', { cause });
  }
  if (cause instanceof InstepError) return cause;
  const { kind, nextStep, remedy } = kindOf(cause);
  const message = messageOf(cause);
  return new kind(remedy === undefined ? message : `${message}: ${remedy}`, { cause }, nextStep);
}

/** What to check when a database can't be used at all. */
export const CHECK_CONNECTION =
  'check that it is running, and check the host, user, password and name in its URL';

/** Whether the server failed or refused access, rather than a statement, or what we do between two statements. */
export function isOfServer(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.nextStep === 'give up';
}

/** Whether `isOfServer`, and the message does not say what to do, as our own do. */
export function isOfConnection(error: unknown): error is DatabaseError {
  return isOfServer(error) && error.cause !== undefined && !isUnknownIssuer(error.cause);
}

/**
 * Whether other events and teams can succeed after this error, because one can be its cause: the server works, and it
 * is no `Stopped` or `QueueFull`. An error that is not ours is a bug, which not all events need meet.
 */
export function canOthersSucceed(error: unknown): error is Error {
  if (error instanceof DatabaseError) return !isOfServer(error);
  return error instanceof Error && !(error instanceof InstepError);
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

/** The five characters of an error's SQLSTATE; empty when it did not come from PostgreSQL. */
function sqlState(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  // An error of Node.js: EPIPE would be one.
  if ('syscall' in error) return '';
  return typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : '';
}
