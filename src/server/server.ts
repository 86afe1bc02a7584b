import { getRequestListener } from '@hono/node-server';
import type { Instrumentation } from '../runtime/instrumentation.ts';
import { type Admit, withAdmission } from './admission.ts';
import { toResponse } from './app.ts';
import type { Route } from './call.ts';
import { type ListenerOptions, openListener, type RunningServer } from './listener.ts';
import { connectionsWithin, readOpenFilesLimit } from './open-files.ts';
import { hostAmbiguous } from './problems.ts';
import { withShortWay } from './short-way.ts';
import { Turns } from './turns.ts';
import { WEBHOOK_PATH } from './webhook.ts';

export type ListenOptions = Pick<ListenerOptions, 'host' | 'port' | 'logger' | 'now'> & {
  readonly fetch: Fetch;
  /** What is answered without `fetch`, unless it is odd. */
  readonly routes: readonly Route[];
  /** Asked for each event before anything else. */
  readonly admit: Admit;
  readonly instrumentation?: Instrumentation;
  /** So many files, sockets among them, something else in this process needs. */
  readonly filesNeededElsewhere?: number;
};

type Fetch = (request: Request) => Response | Promise<Response>;

/** Serves everybody. @throws ListenFailed */
export async function listen(options: ListenOptions): Promise<RunningServer> {
  const { fetch, routes, host, admit, instrumentation, filesNeededElsewhere } = options;
  const shortly = withShortWay(answerWith(fetch, host), routes);
  const turns = new Turns();
  return await openListener({
    ...options,
    portVariable: 'PORT',
    maxConnections: connectionsWithin(readOpenFilesLimit(), filesNeededElsewhere),
    answer: withAdmission(shortly, { path: WEBHOOK_PATH, admit, turns, instrumentation }),
    onConnection: () => turns.welcome(),
  });
}

export type ListenForOperatorsOptions = Pick<
  ListenerOptions,
  'host' | 'port' | 'logger' | 'now'
> & { readonly fetch: Fetch };

/** A browser opens six of them. */
export const MAX_OPERATORS_CONNECTIONS = 48;

/** Serves operators. @throws ListenFailed */
export async function listenForOperators(
  options: ListenForOperatorsOptions,
): Promise<RunningServer> {
  return await openListener({
    ...options,
    portVariable: 'OPS_PORT',
    maxConnections: MAX_OPERATORS_CONNECTIONS,
    answer: answerWith(options.fetch, options.host),
  });
}

/** HTTP/1.0 needs to name no host, and some health checks still speak it. */
function answerWith(fetch: Fetch, host: string) {
  return getRequestListener(
    (request) => (namesTwoHosts(request) ? toResponse(hostAmbiguous().toAnswer()) : fetch(request)),
    { hostname: host, overrideGlobalObjects: true },
  );
}

/** Proxies differ in which one they take; HTTP/1.1 asks servers to take neither (RFC 9112, 3.2). */
function namesTwoHosts({ headers }: Request): boolean {
  return headers.get('host')?.includes(',') === true;
}
