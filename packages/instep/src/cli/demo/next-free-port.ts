import { ListenFailed } from '../../server/listener.ts';

const PORTS_TO_TRY = 100;

/** Listens at this port or at the next free one, and reports taken ports. @throws ListenFailed */
export async function atNextFreePort<Listener>(
  first: number,
  listenAt: (port: number) => Promise<Listener>,
): Promise<Listener> {
  for (let port = first; ; port += 1) {
    try {
      return await listenAt(port);
    } catch (error) {
      const isTaken = error instanceof ListenFailed && error.isTaken;
      if (!isTaken || port === first + PORTS_TO_TRY) throw error;
      process.stdout.write(`Port ${port} is taken. Trying ${port + 1}.\n`);
    }
  }
}
