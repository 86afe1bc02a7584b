import type { Handler } from './http-message.ts';
import { type ListenerOptions, openListener, type RunningServer } from './listener.ts';
import { createNodeListener } from './node-listener.ts';
import { connectionsWithin, readOpenFilesLimit } from './open-files.ts';

export type ListenOptions = Pick<ListenerOptions, 'host' | 'port' | 'logger'> & {
  readonly handle: Handler;
  /** How many files, sockets included, another part of this process needs. */
  readonly filesNeededElsewhere?: number;
};

/** Serves the public port. @throws ListenFailed */
export async function listen(options: ListenOptions): Promise<RunningServer> {
  const { host, port, logger, handle, filesNeededElsewhere } = options;
  return await openListener({
    host,
    port,
    portVariable: 'PORT',
    logger,
    maxConnections: connectionsWithin(readOpenFilesLimit(), filesNeededElsewhere),
    onRequest: createNodeListener(handle),
  });
}
