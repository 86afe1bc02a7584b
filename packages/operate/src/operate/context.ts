// What the operators' functions work with, who calls them, and how people log in to the console.

import type { EngineServices } from 'instep-engine';
import type { Database } from 'instep-engine/postgres';
import type { IssueCode } from '../issues/issues.ts';
import type { OtherFeatures } from '../issues/service-state.ts';
import type { NamedToken, Role } from './roles.ts';

/** What the functions of this package work with: get it from `openContext` of `instep/operate`, and pass it on. */
export type OperateContext = EngineServices & {
  /** @internal */
  readonly otherFeatures: OtherFeatures;
  /** The key of the metadata that names a customer's team (`LINK_BY_METADATA`), if it is set. */
  readonly linkByMetadata?: string | null;
  /**
   * Checks what Instep needs besides the database, as `instep doctor` does: it asks Stripe, and takes up to some seconds. Only
   * where a server has opened the context.
   */
  readonly examine?: () => AsyncIterable<Check>;
  /** Disconnects from the database, unless the connections are those of a handler. */
  close(): Promise<void>;
};

/** What reading needs of a context. */
export type ReadContext = { readonly database: Pick<Database, 'query'> };

/** The result of one check of `instep doctor`. */
export type Check = {
  /** The subject of the check, in a word or two. */
  readonly name: string;
  /** The issue that was found, if it is one of those that the overview lists too. */
  readonly code?: IssueCode;
  /** `warning`: it works for now, or could not be checked. `failure`: events are lost or refused. */
  readonly state: 'ok' | 'warning' | 'failure';
  /** The result, and its meaning. */
  readonly result: string;
  /** What to do; `null` when there is nothing to do. */
  readonly advice: string | null;
};

/** Who acts. The audit keeps it, so use an id rather than a name or an e-mail address. */
export type Operator = {
  readonly name: string;
  readonly how: OperatorAccess;
  /** Why, for the audit. */
  readonly reason?: string;
};

/** Through which program an operator acts. */
export type OperatorAccess = 'application' | 'command' | 'console';

/** A handler or an Instep, whose connections a context can share. */
export type Operated = { operateContext(): Promise<OperateContext> };

/**
 * A user of the console. The audit keeps the name, so use an id rather than a name or an e-mail address. It has 1
 * to 200 characters, and no control characters.
 */
export type ConsoleUser = {
  readonly name: string;
  readonly role: Role;
};

/** Whose token it is; `null` if it is wrong. */
export type CheckToken = (token: string) => ConsoleUser | null;

/** How people log in to the console of `instep serve`. */
export type ConsoleLogin = {
  /** Each one signs the cookies of its holder. */
  readonly tokens: readonly NamedToken[];
  readonly checkToken: CheckToken;
};

export type ConsoleHandler = ((request: Request) => Promise<Response>) & {
  /** Ends what the console does in the background, and disconnects it from the database. */
  close(): Promise<void>;
};
