import type { RequestListener } from 'node:http';
import { importOptional } from '../runtime/packages.ts';
import type { Operated } from './context.ts';

/** `too many` when so many wrong tokens wait for their answer that this one was not looked at. */
export type TokenVerdict = 'right' | 'wrong' | 'too many';

/** How operators log in to the console of `instep serve`. */
export type ConsoleLogin = {
  /** Signs the cookies. */
  readonly secret: string;
  readonly checkToken: (token: string) => Promise<TokenVerdict>;
};

export type ConsoleHandler = ((request: Request) => Promise<Response>) & {
  /** Ends what the console does in the background, and disconnects it from the database. */
  close(): Promise<void>;
};

/** What the package `instep-console` exports for `instep serve`. */
export type ConsolePackage = {
  /** Without a login, every request is an operator's. */
  createConsoleWithLogin(options: {
    readonly instep: Operated;
    readonly login: ConsoleLogin | null;
  }): ConsoleHandler;
  /** Serves a handler with `node:http`. */
  toNodeListener(handler: (request: Request) => Promise<Response>): RequestListener;
};

/** The package `instep-console`; `null` when it is not installed. */
export async function importConsole(): Promise<ConsolePackage | null> {
  return await importOptional<ConsolePackage>('instep-console');
}
